"""What the API shows: the name and the type of every member of every answer.

Must not know how the values are found (views.py). The schemas of openapi.json are made from these types, and the type
checker holds views.py to them. Promise: SEM-API-2.
"""

from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, Required

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from tickwright.api.problem_answers import ProblemJson
from tickwright.domain.executions import Cause, Reason
from tickwright.domain.jobs import JobStatus
from tickwright.domain.transitions import State


def named(values: type[Enum]) -> WithJsonSchema:
    """One of an Enum's values, by its text."""
    return WithJsonSchema({"type": "string", "enum": [value.value for value in values]})


JobStatusName = Annotated[str, named(JobStatus)]
StatusName = Annotated[str, named(State)]
ReasonName = Annotated[str, named(Reason)]
CauseName = Annotated[str, named(Cause)]


class SpecFieldsJson(TypedDict):
    """A job as its tenant wants it, without the payload."""

    name: str | None
    schedule: dict[str, Any]
    target: dict[str, Any]
    retryPolicy: dict[str, Any]
    timeoutSec: int
    runDeadlineSec: int | None
    priority: str
    overlap: dict[str, Any]
    catchup: dict[str, Any]
    tags: list[str]
    owner: str | None
    description: str | None
    secrets: list[str]


class SpecJson(SpecFieldsJson):
    """A job as its tenant wants it: what POST takes and PATCH changes."""

    payload: Any


class PendingEditJson(TypedDict):
    """An edit that waits: which definitionVersion the job has from `effectiveFrom` on."""

    definitionVersion: int
    effectiveFrom: str


class VersionJson(SpecJson):
    """One version of a job: the edit that waits is the newest."""

    definitionVersion: int
    createdAt: str


class VersionsJson(TypedDict):
    """One page of a job's versions, newest first; `nextToken` is null on the last."""

    versions: list[VersionJson]
    nextToken: str | None


class MovingJson(TypedDict):
    """What a job is and does, beside what its tenant wants.

    `version` rises with every change, `definitionVersion` with every edit. `activeExecutionId`: its run that is
    unfinished, where its overlap policy lets none beside it.
    """

    jobId: str
    status: JobStatusName
    version: int
    definitionVersion: int
    createdAt: str
    resolvedCron: list[str] | None
    nextRunAt: str | None
    lastScheduledTime: str | None
    activeExecutionId: str | None
    pendingEdit: PendingEditJson | None


class JobSummaryJson(MovingJson, SpecFieldsJson):
    """A job in a list: everything but its payload."""


class LintNoteJson(TypedDict):
    """Something worth a second look; never a refusal."""

    code: str
    message: str


class StaleJson(TypedDict):
    """What an answer has besides while the store does not answer: it is a copy of what was shown at `asOf`."""

    stale: NotRequired[Literal[True]]
    asOf: NotRequired[str]


class JobJson(JobSummaryJson):
    """A job. `explanation` says in plain words when it fires, `lint` what about that may surprise."""

    payload: Any
    explanation: list[str]
    lint: list[LintNoteJson]
    etag: str


class JobShownJson(JobJson, StaleJson):
    """A job, or a copy of one while the store does not answer."""


class AcceptedJson(TypedDict):
    """A submission that waits in the intake, since the store does not answer; it becomes the job of this id.

    The same request again, with its key, says what has become of it: the job, or why it was refused.
    """

    jobId: str
    status: Literal["accepted"]
    acceptedAt: str


# `class` is a word of Python, so these two have the other form. The fingerprint groups errors of one cause.
ErrorSummaryJson = TypedDict("ErrorSummaryJson", {"class": str, "message": str, "fingerprint": str})
FullErrorJson = TypedDict("FullErrorJson", {"class": str, "message": str, "fingerprint": str, "trace": str})


class PassedOverJson(TypedDict):
    """The ticks that one row stands for; `exact` is false where the count is a lower bound.

    `closedBy` names the version of the calendar that closed them, as `holidays@3`.
    """

    first: str
    last: str
    count: int
    exact: bool
    closedBy: str | None


# That a dead execution was taken off the list of what needs attention, when, and why.
DiscardedAtJson = TypedDict("DiscardedAtJson", {"at": str, "reason": str})  # noqa: UP013 - as its neighbours


class ExecutionFieldsJson(TypedDict):
    """An execution without what may be long. `jobVersion`: the job's definitionVersion that it runs with.

    `nominalTime`: where the schedule names a tick that was moved, a local time that the clock jumped over or the start
    of its window. `tzdataVersion`: the zone rules by which the tick was found. `generation` rises with each redrive;
    the last was at `redrivenAt`. `attempt` and `maxAttempts` count over all generations, `generationAttempt` and
    `generationMaxAttempts` in this one. `rerunOf`: the dead execution in whose place it was asked for, with another
    payload.
    """

    executionId: str
    jobId: str
    jobVersion: int
    status: StatusName
    reason: ReasonName | None
    cause: CauseName
    leaseEpoch: int
    generation: int
    attempt: int
    maxAttempts: int
    generationAttempt: int
    generationMaxAttempts: int
    scheduledTime: str
    nominalTime: str | None
    tzdataVersion: str | None
    createdAt: str
    redrivenAt: str | None
    startedAt: str | None
    finishedAt: str | None
    retryAt: str | None
    leaseUntil: str | None
    deadline: str | None
    runDeadline: str | None
    workerId: str | None
    progress: float | None
    priority: str
    passedOver: PassedOverJson | None
    rerunOf: str | None


class ExecutionSummaryJson(ExecutionFieldsJson):
    """An execution in a list: everything but its result and its trace."""

    error: ErrorSummaryJson | None


class ExecutionJson(ExecutionFieldsJson):
    """An execution: one tick of a job, or one run that somebody asked for.

    `checkpoint`: what its last holder noted of it, for the next attempt; a success forgets it, and `progress` too.
    `result`, `checkpoint` and `error` have their job's secrets masked; the next attempt is handed the checkpoint whole.
    """

    error: FullErrorJson | None
    discarded: DiscardedAtJson | None
    result: Any
    checkpoint: Any
    etag: str


class ExecutionShownJson(ExecutionJson, StaleJson):
    """An execution, or a copy of one while the store does not answer."""


class JobsJson(TypedDict):
    """One page of jobs; `nextToken` is null on the last. A page may be empty and have a next."""

    jobs: list[JobSummaryJson]
    nextToken: str | None


class ExecutionsJson(TypedDict):
    """One page of executions, newest first; `nextToken` is null on the last. A page may be empty and have a next."""

    executions: list[ExecutionSummaryJson]
    nextToken: str | None


class LogJson(TypedDict):
    """The end of what one attempt has said, and how many bytes before it were cut.

    `saidBy`: `worker` while the attempt ran, or `report`, what came with the report of its end.
    """

    attempt: int
    generation: int
    leaseEpoch: int
    saidBy: str
    text: str
    cutBytes: int
    writtenAt: str


class LogsJson(TypedDict):
    """One page of the logs of an execution's attempts, newest first. `cloudWatch`: where all of it is, if anywhere."""

    executionId: str
    logs: list[LogJson]
    cloudWatch: str | None
    nextToken: str | None


class ExplanationJson(TypedDict):
    """What an execution waits for, since when, and when it should start."""

    executionId: str
    waitsFor: str
    since: str
    startsAt: str | None


class ExtendedJson(TypedDict):
    """Until when the lease of a worker runs now."""

    extendUntil: str


class OutcomeJson(TypedDict, total=False):
    """What became of one job of a batch: `job` where it was accepted, `problem` where it was refused."""

    status: Required[int]
    replayed: Required[bool]
    job: JobJson
    problem: ProblemJson


class BatchJson(TypedDict):
    """The outcomes, in the order of the jobs sent."""

    outcomes: list[OutcomeJson]


class TickJson(TypedDict):
    """A tick, its time in the schedule's zone, and what is special about it."""

    at: str
    local: str
    note: str | None


class SecondEngineJson(TypedDict):
    """The first tick on which an independent engine disagrees; null where one of the two has none."""

    ours: str | None
    theirs: str | None


class PreviewJson(TypedDict):
    """What a schedule will do. `secondEngine` is null where it agrees, or is known to be wrong."""

    resolvedCron: list[str]
    explanation: list[str]
    ticks: list[TickJson]
    lint: list[LintNoteJson]
    tzdataVersion: str
    secondEngine: SecondEngineJson | None


class ValidatedJson(TypedDict):
    """What a job would be; nothing was written. `ticksBefore` and `ticksAfter`: its next ten ticks without and with it.

    With an `effectiveFrom` further away than these, both are the ten from it on. `preview` begins at it always.
    """

    job: SpecJson
    preview: PreviewJson
    ticksBefore: list[str] | None
    ticksAfter: list[str]


class MinuteJson(TypedDict):
    """A minute, and how many ticks fall into it."""

    at: str
    ticks: int


class ZoneChangeJson(TypedDict):
    """A job whose next tick new zone rules have moved: where it was, by which rules, and where it is."""

    jobId: str
    name: str | None
    was: str
    tzdataVersionWas: str
    nextRunAt: str | None


class ZoneChangesJson(TypedDict):
    """What the zone rules of this version have moved, among as many jobs as were looked at."""

    tzdataVersion: str
    changes: list[ZoneChangeJson]
    nextToken: str | None


class HerdJson(TypedDict):
    """Ticks a minute, without the empty ones, of so many jobs. `truncated`: others were left out to bound the work.

    Everybody's (`scope=all`) are counted in so many of the installation's buckets, and `estimated` from them where
    they are not all; a tenant's own are counted job by job, and have no buckets.
    """

    scope: Literal["tenant", "all"]
    fromMinute: str
    toMinute: str
    minutes: list[MinuteJson]
    jobs: int
    truncated: bool
    estimated: bool
    bucketsRead: int | None
    buckets: int | None


class MeJson(TypedDict):
    """Whose key this is, and what it may do."""

    tenantId: str
    label: str
    scopes: list[str]


class HealthJson(TypedDict):
    """Whether the installation answers, its store included."""

    status: str
    version: str
