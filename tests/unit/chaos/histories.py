"""A hand-made history that is right, and the parts to make one that is wrong.

One job ticks every ten seconds from BEGIN; three ticks ran, each with its two lines of evidence. Must not judge.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.chaos.history import Attempt, Beat, Change, Expect, History, Kind, Once, Presence, Rhythm, Seen, Story
from tests.support.builders import a_head, a_job_id, an_execution
from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch, ExecutionKey, ExecutionRef, JobId, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.limits import STANDARD
from tickwright.domain.transitions import State

BEGIN = 1_796_083_200_000
PERIOD_MS = 10_000
DURATIONS = STANDARD.scaled(0.05)
TICKS = tuple(BEGIN + PERIOD_MS * number for number in (1, 2, 3))
LAST_MS = TICKS[-1] + 5_000
JOB = a_job_id()


def ns(at_ms: int) -> int:
    """The monotonic clock of the story: as far from its beginning as the wall clock."""
    return (at_ms - BEGIN) * 1_000_000


def a_beat() -> Beat:
    """The rhythm of the job."""
    return Beat(period_ms=PERIOD_MS, phase_ms=BEGIN % PERIOD_MS, until_ms=LAST_MS)


def a_change(kind: Kind, at_ms: int, **shown: Any) -> Change:  # noqa: ANN401 - any field of the class
    """A change that was asked for at an instant and acknowledged 20 ms later."""
    given: dict[str, Any] = {
        "kind": kind,
        "invoked_ms": at_ms,
        "acked_ms": at_ms + 20,
        "acked_ns": ns(at_ms + 20),
        "version": 1,
        "definition_version": 1,
        "status": JobStatus.ACTIVE,
        "next_ms": None,
        "decided_ms": -1,
        "rhythm": a_beat(),
    }
    return Change(**(given | shown))


def submitted(**shown: Any) -> Change:  # noqa: ANN401 - any field of the class
    """The job was submitted a second after BEGIN."""
    return a_change(Kind.SUBMIT, BEGIN + 1_000, **({"next_ms": TICKS[0]} | shown))


def a_row(tick: int, **shown: Any) -> Execution:  # noqa: ANN401 - any field of the class
    """The execution of a tick: it succeeded in its first attempt, 1.2 s after its time."""
    epoch = shown.get("lease_epoch", 1)
    given: dict[str, Any] = {
        "job_id": JOB,
        "key": tick_key(Instant(tick)),
        "state": State.SUCCEEDED,
        "scheduled_at": Instant(tick),
        "created_at": Instant(tick - 200),
        "finished_at": Instant(tick + 1_200),
        "lease_epoch": Epoch(1),
        "attempt": 1,
        "max_attempts": 12,
        "result": a_result(tick, epoch),
    }
    return an_execution(**(given | shown))


def a_result(tick: int, epoch: int) -> str:
    """What the attempt of this epoch answers."""
    return json.dumps({"leaseEpoch": epoch, "mark": f"{tick}/{epoch}"})


def an_attempt(tick: int, epoch: int = 1, **shown: Any) -> Attempt:  # noqa: ANN401 - any field of the class
    """The evidence of the attempt that gave the result: from 100 ms to 1.1 s after the tick."""
    started_ms, ended_ms = shown.get("started_ms", tick + 100), shown.get("ended_ms", tick + 1_100)
    given: dict[str, Any] = {
        "ref": ExecutionRef(JOB, tick_key(Instant(tick))),
        "epoch": epoch,
        "attempt": epoch,
        "member": "w0.1",
        "version": 1,
        "scheduled_ms": tick,
        "claimed_ms": started_ms - 10,
        "deadline_ms": started_ms - 10 + 60_000,
        "started_ms": started_ms,
        "started_ns": ns(started_ms),
        "ended_ms": ended_ms,
        "ended_ns": None if ended_ms is None else ns(ended_ms),
        "outcome": "success",
        "mark": f"{tick}/{epoch}",
    }
    return Attempt(**(given | shown))


def a_story(*changes: Change, **shown: Any) -> Story:  # noqa: ANN401 - any field of the class
    """The job as its owner knows it."""
    given: dict[str, Any] = {"job_id": JOB, "name": "job", "expect": Expect.SUCCEED, "overlaps": False}
    given |= {"catches_up_paused": False, "changes": list(changes) or [submitted()]}
    return Story(**(given | shown))


def a_final_head(**shown: Any) -> Head:  # noqa: ANN401 - any field of the class
    """The job when all is over: no tick is left."""
    ended = {"status": JobStatus.ENDED, "next_run_at": None, "bucket": None}
    return a_head(**({"job_id": JOB} | ended | shown))


def a_history(
    *,
    story: Story | None = None,
    rows: Sequence[Execution] | None = None,
    attempts: Sequence[Attempt] | None = None,
    head: Head | None = None,
    **shown: Any,  # noqa: ANN401 - any field of the class
) -> History:
    """The right history, or one with other parts."""
    told = story or a_story()
    last = told.changes[-1]
    status = JobStatus.CANCELLED if last.kind is Kind.CANCEL else JobStatus.ENDED
    heads: Mapping[JobId, Head] = {JOB: head or a_final_head(version=last.version, status=status)}
    given: dict[str, Any] = {
        "stories": [told],
        "attempts": [an_attempt(tick) for tick in TICKS] if attempts is None else attempts,
        "stalls": [],
        "presences": [Presence(member="s0.1", from_ms=BEGIN, until_ms=LAST_MS)],
        "executions": {row.ref: row for row in ([a_row(tick) for tick in TICKS] if rows is None else rows)},
        "heads": heads,
        "entries": [],
        "letters": frozenset(),
        "durations": DURATIONS,
        "last_tick_ms": LAST_MS,
    }
    return History(**(given | shown))


def cancelled(at_ms: int, *, decided_ms: int, census: Mapping[int, Seen]) -> Change:
    """The job was cancelled; the census is by tick."""
    seen = {tick_key(Instant(tick)): one for tick, one in census.items()}
    how = {"version": 2, "status": JobStatus.CANCELLED, "decided_ms": decided_ms, "census": seen}
    return a_change(Kind.CANCEL, at_ms, **how)


def once(at_ms: int) -> Rhythm:
    """A single tick."""
    return Once(at_ms=at_ms)


def without(rows: Sequence[Execution], tick: int) -> list[Execution]:
    """All but the row of a tick."""
    return [row for row in rows if row.scheduled_at != tick]


def renamed(row: Execution, suffix: str) -> Execution:
    """The same execution under a key of its own."""
    return replace(row, key=ExecutionKey(row.key + suffix))
