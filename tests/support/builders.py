"""Things of the domain that show only what matters to a test: whatever a state demands besides is filled in.

Must not hold assertions. All ids and instants are fixed, so that a failure reads the same on every machine.
"""

from dataclasses import replace
from typing import Any

from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch, ExecutionKey, ExecutionRef, JobId, TenantId, WorkerId, manual_key, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import RUN, CatchUp, CatchUpMode, Definition, Head, JobSpec, JobStatus, Overlap, Target
from tickwright.domain.journal import Entry, Page
from tickwright.domain.lanes import Lane
from tickwright.domain.schedules import Calendar, CalendarContent, CalendarKind
from tickwright.domain.stored_logs import SaidBy, StoredLog
from tickwright.domain.tenants import ApiKey, IdempotencyRecord, NameRecord, Scope
from tickwright.domain.transitions import TERMINAL, State
from tickwright.ports.queue import DeadLetter, Hint

_DIGITS = "234567abcdefghijklmnopqrstuvwxyz"  # base 32 in the order of its characters
_ID_CHARS = 26

TICK = Instant(1_796_083_200_000)  # 2026-12-01T00:00:00.000Z
LEASE_MS = 60_000
TIMEOUT_MS = 300_000
TENANT = TenantId("acme")
WORKER = WorkerId("worker-1")


def an_id(number: int = 0) -> str:
    """A well-formed id that names a number; ids sort as their numbers do."""
    digits = (_DIGITS[number >> shift & 31] for shift in range(5 * (_ID_CHARS - 1), -1, -5))
    return "".join(digits)


def a_job_id(number: int = 0) -> JobId:
    """A job's id."""
    return JobId(an_id(number))


JOB = a_job_id()
ORDER_ID = an_id(2**40)  # of an order to redrive: no job's


def a_ref(job: int = 0, tick: int = TICK) -> ExecutionRef:
    """Where the execution of a tick is stored."""
    return ExecutionRef(a_job_id(job), tick_key(Instant(tick)))


def an_execution(**shown: Any) -> Execution:  # noqa: ANN401 - any field of the class
    """A queued execution of TICK, or one in the state that is shown with all that the state demands."""
    state = shown.get("state", State.QUEUED)
    epoch = shown.get("lease_epoch", 0 if state in {State.QUEUED, State.WAITING, State.SKIPPED} else 1)
    scheduled_at = shown.get("scheduled_at", TICK)
    given: dict[str, Any] = {
        "job_id": JOB,
        "key": tick_key(scheduled_at),
        "tenant_id": TENANT,
        "lane": Lane.NORMAL,
        "state": state,
        "scheduled_at": scheduled_at,
        "created_at": Instant(scheduled_at - 5_000),
        "job_version": 1,
        "max_attempts": 3,
        "lease_epoch": Epoch(epoch),
        "attempt": min(epoch, 3),
    }
    return Execution(**(given | _demanded(state, Instant(scheduled_at)) | shown))


def _demanded(state: State, scheduled_at: Instant) -> dict[str, Any]:
    if state in {State.RUNNING, State.CANCELLING}:
        return {
            "lease_owner": WORKER,
            "claim_token": an_id(1),
            "lease_until": Instant(scheduled_at + LEASE_MS),
            "deadline_at": Instant(scheduled_at + TIMEOUT_MS),
            "started_at": scheduled_at,
        }
    if state is State.RETRY:
        return {"retry_at": Instant(scheduled_at + 10_000), "started_at": scheduled_at}
    if state is State.DEAD:
        return {"finished_at": Instant(scheduled_at + 1_000), "failed_at": Instant(scheduled_at + 1_000)}
    return {"finished_at": Instant(scheduled_at + 1_000)} if state in TERMINAL else {}


def a_head(**shown: Any) -> Head:  # noqa: ANN401 - any field of the class
    """The head of an active job that is due at TICK, in bucket 0; not in the due index if its status forbids it."""
    job_id = shown.get("job_id", JOB)
    is_due = shown.get("status", JobStatus.ACTIVE) is JobStatus.ACTIVE
    given: dict[str, Any] = {
        "job_id": job_id,
        "tenant_id": TENANT,
        "status": JobStatus.ACTIVE,
        "version": 1,
        "definition_version": 1,
        "lane": Lane.NORMAL,
        "schedule": "every 60000 from 0",
        "overlap": Overlap.SKIP,
        "catch_up": CatchUp(mode=CatchUpMode.LATEST, window_s=3_600),
        "max_attempts": 3,
        "created_at": Instant(TICK - 3_600_000),
        "listed_as": job_id,
        "bucket": 0 if is_due else None,
        "next_run_at": TICK if is_due else None,
        "write_token": an_id(2),
    }
    return Head(**(given | shown))


def decided(head: Head, tick: Instant, *, next_run_at: Instant | None) -> Head:
    """The head after a scheduler has decided to run a tick."""
    return replace(
        head,
        next_run_at=next_run_at,
        fired_through=tick,
        fired_version=1,
        fired_at=tick,
        fired_as=RUN,
        runs=head.runs + 1,
    )


def a_definition(**shown: Any) -> Definition:  # noqa: ANN401 - any field of the class
    """The first version of a job that calls a handler."""
    spec = JobSpec(
        schedule="every 60000 from 0",
        source={"every": "1m"},
        target=Target(kind="python", settings={"handler": "echo"}),
    )
    given: dict[str, Any] = {
        "job_id": JOB,
        "version": 1,
        "tenant_id": TENANT,
        "created_at": Instant(TICK - 3_600_000),
        "spec": spec,
    }
    return Definition(**(given | shown))


def a_page(**shown: Any) -> Page:  # noqa: ANN401 - any field of the class
    """A page of bucket 0 that names the execution of TICK and is looked at two minutes later."""
    given: dict[str, Any] = {
        "bucket": 0,
        "check_at": Instant(TICK + 120_000),
        "writer": an_id(3),
        "entries": (Entry(job_id=JOB, key=tick_key(TICK), version=1),),
    }
    return Page(**(given | shown))


def a_hint(**shown: Any) -> Hint:  # noqa: ANN401 - any field of the class
    """A hint to the execution of TICK, never claimed."""
    given: dict[str, Any] = {
        "ref": a_ref(),
        "tenant_id": TENANT,
        "lane": Lane.NORMAL,
        "epoch": Epoch(0),
        "job_version": 1,
        "due_at": TICK,
    }
    return Hint(**(given | shown))


def a_dead_letter(**shown: Any) -> DeadLetter:  # noqa: ANN401 - any field of the class
    """The copy of an execution that failed three times."""
    given: dict[str, Any] = {
        "ref": a_ref(),
        "tenant_id": TENANT,
        "generation": 1,
        "reason": "failed",
        "error_class": "ValueError",
        "message": "no such file",
    }
    return DeadLetter(**(given | shown))


def an_idempotency_record(**shown: Any) -> IdempotencyRecord:  # noqa: ANN401 - any field of the class
    """What a request at TICK has created, kept for two days."""
    given: dict[str, Any] = {
        "tenant_id": TENANT,
        "key": "POST /v1/jobs nightly-1",
        "body_hash": "5" * 64,
        "job_id": JOB,
        "answer": f'{{"jobId": "{JOB}"}}',
        "expires_at": Instant(TICK + 2 * 86_400_000),
        "token": an_id(4),
    }
    return IdempotencyRecord(**(given | shown))


def a_name_record(**shown: Any) -> NameRecord:  # noqa: ANN401 - any field of the class
    """The name *nightly* of JOB."""
    return NameRecord(**({"tenant_id": TENANT, "name": "nightly", "job_id": JOB} | shown))


def a_calendar(**shown: Any) -> Calendar:  # noqa: ANN401 - any field of the class
    """The first version of *holidays*, which is closed on every Christmas Day and on weekends."""
    given: dict[str, Any] = {
        "tenant_id": TENANT,
        "name": "holidays",
        "version": 1,
        "content": CalendarContent(kind=CalendarKind.EXCLUDE, days=("--12-25",), weekdays=("sat", "sun")),
        "updated_at": TICK,
        "write_token": an_id(40),
    }
    return Calendar(**(given | shown))


def a_log(**shown: Any) -> StoredLog:  # noqa: ANN401 - any field of the class
    """What the first attempt of TICK's execution has said."""
    given: dict[str, Any] = {
        "ref": a_ref(),
        "epoch": Epoch(1),
        "said_by": SaidBy.WORKER,
        "generation": 1,
        "attempt": 1,
        "text": "begun\n",
        "cut": 0,
        "written_at": TICK,
        "expires_at": Instant(TICK + 86_400_000),
    }
    return StoredLog(**(given | shown))


def an_api_key(**shown: Any) -> ApiKey:  # noqa: ANN401 - any field of the class
    """A key that may read and write jobs, for ever."""
    given: dict[str, Any] = {
        "key_hash": "a" * 64,
        "tenant_id": TENANT,
        "scopes": frozenset({Scope.JOBS_READ, Scope.JOBS_WRITE}),
        "label": "ci",
        "created_at": TICK,
    }
    return ApiKey(**(given | shown))


def a_manual_key(number: int, created_at: int = TICK) -> ExecutionKey:
    """The key of a run that somebody asked for."""
    return manual_key(Instant(created_at), an_id(number))
