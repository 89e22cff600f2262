"""What the endpoints of dead letters show.

Must not know how the values are found (dead_letter_views.py). Promise: SEM-API-2.
"""

from typing import Annotated, Any, Required

from typing_extensions import TypedDict

from tickwright.api.answers import ExecutionJson, ExecutionSummaryJson, ReasonName, named
from tickwright.api.problem_answers import ProblemJson
from tickwright.domain.redrive_orders import OrderStatus

OrderStatusName = Annotated[str, named(OrderStatus)]


class DeadLetterSummaryJson(TypedDict):
    """A dead execution in a list. `fingerprint`, to group by: its error's or, where no error ended it, the reason."""

    fingerprint: str
    execution: ExecutionSummaryJson


class DeadLettersJson(TypedDict):
    """One page of dead executions, newest death first; `nextToken` is null on the last. A page may be empty."""

    deadLetters: list[DeadLetterSummaryJson]
    nextToken: str | None


class DeadLetterJson(TypedDict):
    """A dead execution and what it was given. `payload` has secrets masked; null too where its version is gone."""

    fingerprint: str
    execution: ExecutionJson
    jobName: str | None
    payload: Any


# `class` is a word of Python, so this has the other form.
DeadGroupJson = TypedDict(
    "DeadGroupJson",
    {
        "fingerprint": str,
        "reason": ReasonName | None,
        "class": str | None,
        "message": str | None,
        "count": int,
        "jobs": int,
        "jobIds": list[str],
        "firstDiedAt": str,
        "lastDiedAt": str,
        "executionIds": list[str],
    },
)


class DeadGroupsJson(TypedDict):
    """Dead executions by fingerprint, the biggest group first; of each some jobs and the newest executions.

    `class` and `message` are null where no error is what they died of: `reason` says it then.

    `groupsInAll`: how many there are, also past the limit. Not `exact`: only the newest deaths were looked at, and
    there may be more groups, and more in each; narrow the stretch of time to count others.
    """

    groups: list[DeadGroupJson]
    groupsInAll: int
    exact: bool


class DryRunJson(TypedDict):
    """What an order or a discard would begin with, and a few of it. `truncated`: there are more than were counted."""

    count: int
    truncated: bool
    sample: list[ExecutionSummaryJson]


class DeadFilterJson(TypedDict):
    """Which dead executions an order means."""

    jobId: str | None
    fingerprint: str | None
    errorClass: str | None
    reason: ReasonName | None
    since: str | None
    until: str | None


class CanaryJson(TypedDict):
    """How the first ones fare: `ended` of those that are waited for, of which `died` are dead again."""

    first: int
    failuresMax: int
    passed: bool
    ended: int
    died: int


class RedriveOrderJson(TypedDict):
    """An order to redrive. `waiting`: those of busy jobs, as last counted; `refused`: those of jobs that are over."""

    orderId: str
    status: OrderStatusName
    filter: DeadFilterJson
    ratePerMin: int
    canary: CanaryJson | None
    createdAt: str
    endedAt: str | None
    redriven: int
    waiting: int
    refused: int
    etag: str


class RedriveOrdersJson(TypedDict):
    """A tenant's orders, newest first: those that run, and those that have ended within a week."""

    orders: list[RedriveOrderJson]


class DiscardOutcomeJson(TypedDict, total=False):
    """What became of one: `problem` where it was refused."""

    executionId: Required[str]
    status: Required[int]
    problem: ProblemJson


class DiscardedJson(TypedDict):
    """How many were discarded. `outcomes` where they were named; `more`: the same request goes on with what is left."""

    discarded: int
    refused: int
    more: bool
    outcomes: list[DiscardOutcomeJson] | None
