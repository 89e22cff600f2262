"""Who asks the API during an outage, and the intake between it and the store: an SQS that stays up.

Must not judge the product.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.scenarios.installation import Installation
from tests.sim.process import Process
from tests.support.builders import TENANT
from tickwright.api.call import Api
from tickwright.api.exchange import Caller, Request, Response
from tickwright.api.landing import settle_arrival
from tickwright.api.routes import ROUTES
from tickwright.api.service import answer
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.outcomes import Refusal
from tickwright.domain.tenants import Scope
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.intake import Arrived, Submission

_CALLER = Caller(tenant_id=TENANT, scopes=frozenset(Scope))
_VISIBILITY_MS = 60_000
_POLL_MS = 1_000
_AT_ONCE = 5
TARGET = {"type": "python", "handler": "scenario"}


async def ask(api: Api, method: str, path: str, body: object = None, **headers: str) -> Response:
    """One request, as API Gateway hands it on."""
    sent = {"content-type": "application/json"} if body is not None else {}
    request = Request(
        method=method,
        path=path,
        headers=sent | {name.replace("_", "-"): value for name, value in headers.items()},
        body=b"" if body is None else json.dumps(body).encode(),
        caller=_CALLER,
    )
    return await answer(api, request, ROUTES)


# ------------------------------------------------------------------------------------------------------- the intake
@dataclass(slots=True)
class _Message:
    submission: Submission
    visible_ms: int
    is_doubled: bool


@dataclass(slots=True)
class Shore:
    """What the intake's queue holds. Each fifth message is delivered once more after it was deleted."""

    house: Installation
    messages: dict[str, _Message] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    taken: int = 0
    landed_ms: dict[JobId, int] = field(default_factory=dict)

    def take(self, submission: Submission) -> None:
        """One more."""
        self.taken += 1
        self.messages[str(self.taken)] = _Message(submission, 0, is_doubled=self.taken % 5 == 0)

    def visible(self) -> list[Arrived]:
        """Some, hidden from others for a while."""
        now = self.house.now_ms()
        found = [(name, one) for name, one in self.messages.items() if one.visible_ms <= now][:_AT_ONCE]
        for _, one in found:
            one.visible_ms = now + _VISIBILITY_MS
        return [Arrived(submission=one.submission, receipt=name) for name, one in found]

    def done(self, arrived: Arrived) -> None:
        """Delete it, or show it once more."""
        self.landed_ms.setdefault(arrived.submission.job_id, self.house.now_ms())
        one = self.messages[arrived.receipt]
        if one.is_doubled:
            one.is_doubled, one.visible_ms = False, self.house.now_ms() + 5_000
        else:
            del self.messages[arrived.receipt]


@dataclass(slots=True)
class SimIntake:
    """A process's way to it."""

    shore: Shore
    process: Process

    async def put(self, submission: Submission) -> bool:
        """Keep it."""
        await self.process.call(lambda: self.shore.take(submission), QueueUnavailable)
        return True

    async def show_again(self, arrived: Arrived, *, after_ms: int) -> None:
        """Move the end of its visibility."""
        until = self.shore.house.now_ms() + after_ms
        await self.process.call(lambda: self._show(arrived, until), QueueUnavailable)

    def _show(self, arrived: Arrived, until_ms: int) -> None:
        self.shore.messages[arrived.receipt].visible_ms = until_ms

    async def set_aside(self, submission: Submission, refusal: Refusal) -> None:
        """Keep the reason."""
        await self.process.call(lambda: self.shore.refused.append(refusal), QueueUnavailable)


async def land_for_ever(house: Installation, api: Api, intake: SimIntake) -> None:
    """What Lambda does with the queue and the function; a life that ends in the middle says nothing more."""
    while not house.stop.is_set():
        for arrived in intake.shore.visible():
            if await settle_arrival(api, intake, arrived):
                await intake.process.gate()
                intake.shore.done(arrived)
        await house.clock.sleep_ms(_POLL_MS)


# ------------------------------------------------------------------------------------------------------ its clients
@dataclass(frozen=True, slots=True)
class Told:
    """What a client was answered: when it asked, how long it waited, the status and the job's id."""

    asked_ms: int
    waited_ms: int
    status: int
    job_id: JobId | None
    due_ms: int


@dataclass(slots=True)
class Submitter:
    """Asks once for each job, and believes what it is told."""

    house: Installation
    api: Api
    told: list[Told] = field(default_factory=list)

    async def ask(self, number: int) -> None:
        """One request, to its answer."""
        asked_ms = self.house.now_ms()
        due_ms = asked_ms + (20_000 if number % 2 else 120_000)
        body = {"name": f"once-{number}", "schedule": {"runAt": to_rfc3339(Instant(due_ms))}, "target": TARGET}
        got = await ask(self.api, "POST", "/v1/jobs", body, idempotency_key=f"once-{number}")
        waited_ms = self.house.now_ms() - asked_ms
        job_id = JobId(json.loads(got.body)["jobId"]) if got.status < 300 else None
        self.told.append(Told(asked_ms, waited_ms, got.status, job_id, due_ms))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reader was shown: when it asked, how long it waited, the status, and how old a copy was."""

    asked_ms: int
    waited_ms: int
    status: int
    is_stale: bool
    age_ms: int


@dataclass(slots=True)
class Reader:
    """Looks at some jobs and executions in turn, at one process of the API and then at the other."""

    house: Installation
    apis: tuple[Api, ...]
    paths: list[str]
    seen: list[Seen] = field(default_factory=list)

    async def look(self, number: int) -> None:
        """One look, to its answer."""
        asked_ms = self.house.now_ms()
        api = self.apis[number % len(self.apis)]
        got = await ask(api, "GET", self.paths[number // len(self.apis) % len(self.paths)])
        value: Mapping[str, object] = json.loads(got.body)
        now_ms = self.house.now_ms()
        age_ms = int(got.headers.get("Age", "0")) * 1_000
        self.seen.append(Seen(asked_ms, now_ms - asked_ms, got.status, "stale" in value, age_ms))
