"""Bugs put in on purpose, each of which the simulation or the pairs must find: `make sim PLANT=no-tombstone`.

Each replaces one rule of the product in the process that installs it. Never installed in a normal run.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from tests.chaos import plants as chaos
from tests.pairs import plants as pairs
from tests.sim.relapses import RELAPSES
from tests.sim.state import State as Stored
from tickwright.domain import repairs
from tickwright.domain.changes import executions, heads
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Page
from tickwright.domain.transitions import State
from tickwright.services import end, fire, resolve, retract


def _no_journal() -> None:
    """Nothing is written down before it is set in motion."""
    chaos.put(Stored, "put_page", lambda _state, _page: None)


def _journal_late() -> None:
    """What is set in motion is written down a page later: sent before it stands in the journal."""
    put = Stored.put_page
    held: list[tuple[Stored, Page]] = []

    def put_page(state: Stored, page: Page) -> None:
        held.append((state, page))
        if len(held) > 1:
            put(*held.pop(0))

    chaos.put(Stored, "put_page", put_page)


def _count_on_failure() -> None:
    """An attempt counts when it has failed, not when it is claimed: a crash costs none."""
    claim, fail = executions.Claim.decide, executions.Fail.decide

    def claimed(change: executions.Claim, old: Execution | None) -> Execution | None:
        new = claim(change, old)
        return None if new is None or old is None else replace(new, attempt=max(1, old.attempt))

    def failed(change: executions.Fail, old: Execution | None) -> Execution | None:
        new = fail(change, old)
        return None if new is None else replace(new, attempt=min(new.attempt + 1, new.max_attempts))

    chaos.put(executions.Claim, "decide", claimed)
    chaos.put(executions.Fail, "decide", failed)


def _drops(states: frozenset[State]) -> Callable[[], None]:
    def install() -> None:
        judge = repairs.judge_present

        def judged(execution: Execution, now: Instant, **times: int) -> repairs.Finding:
            return repairs.DROP if execution.state in states else judge(execution, now, **times)

        chaos.put(resolve, "judge_present", judged)

    return install


def _no_tombstone() -> None:
    """A cancel leaves a tick alone that is decided and not yet inserted."""

    async def nothing(*given: object, **named: object) -> None: ...

    chaos.put(retract, "_tombstone", nothing)


def _refused_tombstone_is_done() -> None:
    """A tombstone that was refused is taken for one that stands."""
    at_it: ContextVar[bool] = ContextVar("at_it", default=False)  # of one request: others are at theirs meanwhile

    async def tombstone(*given: Any, **named: Any) -> None:  # noqa: ANN401 - whatever it takes
        token = at_it.set(True)
        await before(*given, **named)
        at_it.reset(token)

    async def cancelled(kit: Any, execution: Execution, reason: Any) -> Execution:  # noqa: ANN401 - as above
        return execution if at_it.get() else await surely(kit, execution, reason)

    before, surely = retract._tombstone, retract.cancel_surely  # noqa: SLF001 - the rule that the plant replaces
    chaos.put(retract, "_tombstone", tombstone)
    chaos.put(retract, "cancel_surely", cancelled)


def _skip_on_stale_view() -> None:
    """A tick is skipped because the head names an occupant, without a look whether it has ended."""
    look = fire._plan  # noqa: SLF001 - the rule that the plant replaces

    def plan(kit: Any, head: Head, seen: Mapping[ExecutionRef, Execution], *rest: Any) -> Any:  # noqa: ANN401
        open_still = {
            ref: replace(row, state=State.QUEUED, finished_at=None, owed=frozenset(), ttl=None)
            if row.state in {State.SUCCEEDED, State.DEAD, State.CANCELLED}
            else row
            for ref, row in seen.items()
        }
        return look(kit, head, open_still, *rest)

    chaos.put(fire, "_plan", plan)


def _no_claim_token() -> None:
    """Whoever is refused a claim and finds the execution running takes it for its own."""
    chaos.put(executions.Claim, "mine", lambda _change, old: old.state is State.RUNNING)


def _chosen_twice() -> None:
    """A decision asks for the version alone: two schedulers that catch up choose a tick each."""

    def unchanged(change: heads.Advance, old: Head) -> bool:
        moved_on = change.fire is None or old.next_run_at is None or change.next_run_at is None
        return change.version == old.version and not moved_on and change.fire != old.fired_through

    chaos.put(heads.Advance, "_unchanged", unchanged)


def _ttl_before_settle() -> None:
    """A row may be forgotten while something is still owed for it."""

    def ended(old: Execution, state: State, now: Instant, owed: Any, ttl: int | None) -> Execution:  # noqa: ANN401
        return replace(made(old, state, now, owed, ttl), ttl=ttl or now // 1_000 + 86_400)

    made = executions.ended
    chaos.put(executions, "ended", ended)


def _reap_early() -> None:
    """A lease is over once it has half run out."""
    chaos.put(
        Execution,
        "lease_is_over",
        lambda row, now, _error: row.lease_until is not None and row.lease_until - 1_500 < now,
    )


def _pause_forgets() -> None:
    """A write of the API that computes where a job goes on does not ask what was decided meanwhile."""
    decide = heads.Rewrite.decide

    def decided(change: heads.Rewrite, old: Head | None) -> Head | None:
        return decide(replace(change, pins_decision=False), old)

    chaos.put(heads.Rewrite, "decide", decided)


def _owes_nothing() -> None:
    """A dead execution owes no letter."""
    chaos.put(end, "owed_and_ttl", lambda kit, _row, _end, now: (frozenset(), now // 1_000 + kit.retention_s))


PLANTS: Mapping[str, Callable[[], None]] = {
    **{name: install for name, install in chaos.PLANTS.items() if name != "no-journal"},
    "no-journal": _no_journal,
    "journal-late": _journal_late,
    "count-on-failure": _count_on_failure,
    "retry-dropped": _drops(frozenset({State.RETRY})),
    "dropped-early": _drops(frozenset({State.RUNNING, State.QUEUED})),
    "no-tombstone": _no_tombstone,
    "refused-tombstone-is-done": _refused_tombstone_is_done,
    "skip-on-stale-view": _skip_on_stale_view,
    "no-claim-token": _no_claim_token,
    "chosen-twice": _chosen_twice,
    "ttl-before-settle": _ttl_before_settle,
    "reap-early": _reap_early,
    "pause-forgets": _pause_forgets,
    "owes-nothing": _owes_nothing,
    "no-generation": pairs.PLANTS["no-generation"],
    **RELAPSES,
}


def install(name: str) -> None:
    """Put one bug in; an empty name is none."""
    if name:
        PLANTS[name]()


def names() -> Sequence[str]:
    """All of them."""
    return tuple(PLANTS)
