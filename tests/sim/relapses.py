"""Faults that the product once had, put back in: each must be found again, and its kept plan must pass without it.

Each replaces a rule of the product by what stood there before, in the process that installs it. Never installed in a
normal run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tests.chaos.plants import put
from tickwright.domain import repairs, ticks
from tickwright.domain.changes import executions, heads
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import Schedule
from tickwright.domain.transitions import State
from tickwright.loops import worker as loops
from tickwright.ports.queue import Hint
from tickwright.services import attempt, change_job, leases, resolve
from tickwright.services import claim as claiming
from tickwright.services.attempt import Started, Worker
from tickwright.services.claim import NotNow, Over
from tickwright.services.keeping import KeptAttempt
from tickwright.services.kit import Kit


def _doubled_hint_runs_twice() -> None:
    """A hint that a batch holds twice starts the one execution that was claimed for it twice."""
    start = attempt.start

    async def started(worker: Worker, hints: Sequence[Hint]) -> Sequence[Started | Over | NotNow]:
        answers = await start(worker, hints)
        of = {hint.ref: answer for hint, answer in reversed(list(zip(hints, answers, strict=True)))}
        return [of[hint.ref] for hint in hints]

    put(loops, "start", started)


def _waiting_retry_is_claimed() -> None:
    """A retry that stands on the waiting index, and in no journal, is claimed by a hint that comes late."""
    claim = executions.Claim.decide

    def decide(change: executions.Claim, old: Execution | None) -> Execution | None:
        waits = old is not None and old.state is State.RETRY and old.wait_key is not None
        return claim(change, replace(old, wait_key=None, wait_at=None) if waits and old is not None else old)

    put(executions.Claim, "decide", decide)


def _dropped_while_taken_off() -> None:
    """The entry of what stands on the waiting index is dropped, though it may just be taken off under that entry."""
    judge = repairs.judge_present

    def judged(execution: Execution, now: Instant, **times: int) -> repairs.Finding:
        waits = not execution.is_terminal and execution.wait_at is not None
        return repairs.DROP if waits else judge(execution, now, **times)

    put(resolve, "judge_present", judged)


def _expired_on_the_index() -> None:
    """An old hint ends a run whose deadline is past, though it stands on the waiting index, and in no journal."""
    refused = claiming._refused  # noqa: SLF001 - the rule that the plant replaces

    async def ended(kit: Kit, old: Execution | None, now: Instant) -> Over | NotNow:
        waits = old is not None and not old.is_terminal and old.wait_key is not None
        return await refused(kit, replace(old, wait_key=None, wait_at=None) if waits and old is not None else old, now)

    put(claiming, "_refused", ended)


def _held_tick_forgotten() -> None:
    """A pause does not note the tick that was due: one that an edit had kept is nowhere once the job goes on."""
    pause = change_job._paused  # noqa: SLF001 - the rule that the plant replaces

    def paused(kit: Kit, head: Head, now: Instant) -> Head:
        return replace(pause(kit, head, now), held=None)

    put(change_job, "_paused", paused)


def _ahead_edit_settles() -> None:
    """An edit that was made ahead of its time settles what is before that for every schedule, a newer one too."""
    edited = ticks.edited_next

    def following(head: Head, schedule: Schedule, now: Instant, **_how: bool) -> Instant | None:
        return edited(head, schedule, now, is_new=False)

    put(change_job, "edited_next", following)


def _edit_forgets_passed() -> None:
    """A write that computes where a job goes on asks what was decided since, not what was passed over."""
    decide = heads.Rewrite.decide

    def decided(change: heads.Rewrite, old: Head | None) -> Head | None:
        moved_on = old is not None and old.passed_through is not None and old.passed_through >= (old.fired_through or 0)
        return decide(replace(change, pins_decision=change.pins_decision and not moved_on), old)

    put(heads.Rewrite, "decide", decided)


def _renewed_in_line() -> None:
    """Buckets are renewed one after the other, and the first fault ends the round: those at the end are lost."""
    one = leases._renew_one  # noqa: SLF001 - the rule that the plant replaces

    async def renewed(kit: Kit, mine: leases.Leases) -> None:
        for bucket, holding in list(mine.mine.items()):
            await one(kit, mine, bucket, holding)

    put(leases, "renew", renewed)


def _begins_late() -> None:
    """Who hears of its claim when that lease is over begins all the same, beside whoever has taken over."""
    put(KeptAttempt, "_came_too_late", lambda _kept: False)


RELAPSES: Mapping[str, Callable[[], None]] = {
    "doubled-hint-runs-twice": _doubled_hint_runs_twice,
    "waiting-retry-is-claimed": _waiting_retry_is_claimed,
    "dropped-while-taken-off": _dropped_while_taken_off,
    "expired-on-the-index": _expired_on_the_index,
    "held-tick-forgotten": _held_tick_forgotten,
    "ahead-edit-settles": _ahead_edit_settles,
    "edit-forgets-passed": _edit_forgets_passed,
    "renewed-in-line": _renewed_in_line,
    "begins-late": _begins_late,
}
