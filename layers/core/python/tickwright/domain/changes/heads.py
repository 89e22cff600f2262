"""How a job's head is written: by the scheduler, which decides ticks, and by the API, which changes the job.

Must not know a store. Every API write raises `version` (R2), every decision moves `nextRunAt` and pins what it was
taken from (R1). Promises: SEM-TICK-1, SEM-TICK-2, SEM-CANCEL-1.
"""

from dataclasses import dataclass, replace

from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, FiredAs, Head, JobStatus, Reopened, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PutHead:
    """Create a job, where there is none of this id."""

    head: Head

    @property
    def job_id(self) -> JobId:
        """Which job."""
        return self.head.job_id

    def decide(self, old: Head | None) -> Head | None:
        """Only where there is none."""
        return self.head if old is None else None

    def mine(self, old: Head) -> bool:
        """The same creation, by its token."""
        return old.write_token == self.head.write_token and old.version == self.head.version


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDefinition:
    """Write one version of a job, once."""

    definition: Definition

    def decide(self, old: Definition | None) -> Definition | None:
        """Only where there is none."""
        return self.definition if old is None else None

    def mine(self, old: Definition) -> bool:
        """Immutable: an equal one is this one."""
        return old == self.definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """A: the decision on tick t. It moves the job on and says what the tick became, in one write.

    Two schedulers on any stale reading may try it: the condition names t, the version and all that the decision was
    taken from.
    """

    job_id: JobId
    tick: Instant
    version: int
    definition_version: int  # of that version: what the tick runs with, whenever it is inserted (R6)
    seen_fired_through: Instant | None
    seen_active: str | None
    next_run_at: Instant | None
    tzdata: str  # the zone rules by which `next_run_at` was found
    fire: Instant | None  # the tick that is decided: t, a later one (catch-up), or None if all are passed over (R7)
    verdict: Verdict | None
    fired_at: Instant
    takes_active: str | None  # the execution that occupies the job from now on
    pins_active: bool  # every overlap policy but `allow`
    passed_through: Instant | None
    ends: bool  # no tick is left: the job is over

    def __post_init__(self) -> None:
        """A decision is whole, and time moves on."""
        assert (self.fire is None) == (self.verdict is None)
        assert self.ends == (self.next_run_at is None)
        assert self.next_run_at is None or self.next_run_at > max(self.tick, self.fire or self.tick)
        assert self.fire is None or self.fire >= self.tick
        assert self.takes_active is None or self.pins_active

    def decide(self, old: Head | None) -> Head | None:
        """Active, due at t, and exactly as it was when the decision was taken."""
        if old is None or old.status is not JobStatus.ACTIVE or not self._unchanged(old):
            return None
        moved = replace(
            old,
            status=JobStatus.ENDED if self.ends else JobStatus.ACTIVE,
            next_run_at=self.next_run_at,
            bucket=None if self.ends else old.bucket,
            tzdata=old.tzdata if self.ends else self.tzdata,
            passed_through=self.passed_through or old.passed_through,
        )
        return moved if self.fire is None else self._fired(moved)

    def _unchanged(self, old: Head) -> bool:
        seen = (self.tick, self.version, self.seen_fired_through)
        stored = (old.next_run_at, old.version, old.fired_through)
        return seen == stored and (not self.pins_active or old.active == self.seen_active)

    def _fired(self, moved: Head) -> Head:
        assert self.verdict is not None
        return replace(
            moved,
            fired_through=self.fire,
            fired_version=self.definition_version,
            fired_at=self.fired_at,
            fired_as=self.verdict,
            active=self.takes_active or moved.active,
            runs=moved.runs + int(self.verdict.fired_as is FiredAs.RUN),
        )

    def mine(self, old: Head) -> bool:  # noqa: ARG002 - the shape of a Change
        """Never claimed: a refused decision is judged by the head, which says what was decided, by whomever (R1)."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """The API's write of a head: pause, resume, cancel or edit it.

    It raises the version, so every older plan is refused (R2).
    """

    new: Head
    seen_version: int
    seen_next_run_at: Instant | None
    pins_decision: bool  # a write that computes nextRunAt must have seen the last decision, and each moves nextRunAt on

    def __post_init__(self) -> None:
        """The version rises by one."""
        assert self.new.version == self.seen_version + 1
        assert self.new.write_token is not None

    @property
    def job_id(self) -> JobId:
        """Which job."""
        return self.new.job_id

    def decide(self, old: Head | None) -> Head | None:
        """The version seen, and the last decision seen where it matters.

        What the scheduler owns is kept as it stands.
        """
        if old is None or old.version != self.seen_version:
            return None
        if self.pins_decision and old.next_run_at != self.seen_next_run_at:
            return None
        return replace(
            self.new,
            tzdata=old.tzdata if self.new.next_run_at is None else self.new.tzdata,
            fired_through=old.fired_through,
            fired_version=old.fired_version,
            fired_at=old.fired_at,
            fired_as=old.fired_as,
            passed_through=old.passed_through,
            runs=old.runs,
            active=old.active,
            waiting=old.waiting,
            reopened=old.reopened,
        )

    def mine(self, old: Head) -> bool:
        """The token is fresh for each write."""
        return old.version == self.new.version and old.write_token == self.new.write_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupy:
    """Let a manual run occupy its job, under the overlap rule; in one transaction with the run's insert."""

    job_id: JobId
    version: int
    seen_active: str | None
    active: str

    def decide(self, old: Head | None) -> Head | None:
        """Active or paused, at the version seen, and free as it was seen."""
        if old is None or not old.is_open:
            return None
        if old.version != self.version or old.active != self.seen_active:
            return None
        return replace(old, active=self.active)

    def mine(self, old: Head) -> bool:
        """The job is occupied by the run of this request, whose key names the request."""
        return old.active == self.active


@dataclass(frozen=True, slots=True, kw_only=True)
class StillOpen:
    """Nothing is written: the job is open, at the version seen.

    Stands in a transaction beside a run's insert, so that no run comes into being after a cancel has been acknowledged.
    """

    job_id: JobId
    version: int

    def decide(self, old: Head | None) -> Head | None:
        """Active or paused, at the version seen."""
        if old is None or not old.is_open or old.version != self.version:
            return None
        return old

    def mine(self, old: Head) -> bool:  # noqa: ARG002 - the shape of a Change
        """A check leaves no trace."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopen:
    """Let an execution of a job be redriven, under the overlap rule; in one transaction with the redrive.

    `active` None: the policy is *allow*, and nobody occupies the job. `reopened` tells a cancel how far to look back.
    """

    job_id: JobId
    version: int
    seen_active: str | None
    active: str | None
    seen_reopened: Reopened | None
    reopened: Reopened

    def decide(self, old: Head | None) -> Head | None:
        """Not cancelled, at the version seen, free as it was seen, and with no other redrive since."""
        if old is None or old.status is JobStatus.CANCELLED or old.version != self.version:
            return None
        if self.active is not None and old.active != self.seen_active:
            return None
        if old.reopened != self.seen_reopened:
            return None
        return replace(old, active=self.active or old.active, reopened=self.reopened)

    def mine(self, old: Head) -> bool:
        """Occupied by the generation of this redrive, or, where nobody occupies it, reopened as this would."""
        return old.active == self.active if self.active is not None else old.reopened == self.reopened
