"""Is the table of transitions complete, free of contradiction, and sound in what each row does?"""

from itertools import product
from typing import NamedTuple

import pytest

from tickwright.domain.transitions import (
    IGNORED,
    REFUSED,
    TERMINAL,
    TRANSITIONS,
    UNFINISHED,
    Effect,
    Event,
    Fence,
    Guard,
    Row,
    State,
    row,
    rows,
)

PAIRS = list(product(State, Event))
LEASED = frozenset({State.RUNNING, State.CANCELLING})


class Situation(NamedTuple):
    """Everything that a guard may ask."""

    attempts_left: bool
    retry_due: bool
    may_retry: bool
    in_time: bool
    asked_seldom: bool
    nothing_owed: bool
    listed: bool

    def holds(self, guard: Guard) -> bool:
        """What the guard's text says."""
        return {
            Guard.ALWAYS: True,
            Guard.ATTEMPTS_LEFT: self.attempts_left,
            Guard.RETRY_DUE: self.retry_due and self.attempts_left,
            Guard.RETRYING: self.may_retry and self.attempts_left,
            Guard.GIVING_UP: not (self.may_retry and self.attempts_left),
            Guard.IN_TIME: self.in_time,
            Guard.ASKED_SELDOM: self.asked_seldom,
            Guard.NOTHING_OWED: self.nothing_owed,
            Guard.ON_THE_LIST: self.listed and self.nothing_owed,
        }[guard]


SITUATIONS = [Situation(*facts) for facts in product((True, False), repeat=len(Situation._fields))]


@pytest.mark.sem("SEM-STATE-1")
@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_every_pair_stands_in_exactly_one_place(state: State, event: Event) -> None:
    """In the table, or among what is ignored, or among what is refused."""
    places = [bool(rows(event, state)), (state, event) in IGNORED, (state, event) in REFUSED]

    assert places.count(True) == 1


@pytest.mark.sem("SEM-STATE-1")
@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_at_most_one_row_applies_whatever_the_situation(state: State, event: Event) -> None:
    """Over all combinations of what guards ask: where two rows stand, their guards exclude each other."""
    applying = [[r for r in rows(event, state) if situation.holds(r.only_if)] for situation in SITUATIONS]

    assert max(map(len, applying)) <= 1


@pytest.mark.parametrize("event", [Event.FAIL, Event.REAP])
def test_a_run_that_failed_or_was_lost_always_goes_somewhere(event: Event) -> None:
    """To be tried again or to its end: there is no situation in which nothing applies."""
    applying = [[r.target for r in rows(event, State.RUNNING) if s.holds(r.only_if)] for s in SITUATIONS]

    assert all(targets in ([State.RETRY], [State.DEAD]) for targets in applying)


@pytest.mark.sem("SEM-STATE-1")
def test_the_states_that_only_a_redrive_leaves_are_the_four_ends() -> None:
    """Terminal is what the table leaves, and final but for the dead: SKIPPED is only ever inserted.

    A discard of what is dead leaves it where it is.
    """
    assert {State.SUCCEEDED, State.DEAD, State.CANCELLED, State.SKIPPED} == TERMINAL
    assert State.SKIPPED not in {r.target for r in TRANSITIONS}
    assert set(State) == UNFINISHED | TERMINAL
    assert {(r.source, r.event) for r in TRANSITIONS if r.source in TERMINAL} == {
        (State.DEAD, Event.REDRIVE),
        (State.DEAD, Event.DISCARD),
    }
    assert {r.target for r in rows(Event.DISCARD)} == {State.DEAD}


def test_every_unfinished_state_leads_to_an_end_and_is_reached_from_the_first() -> None:
    """No island and no trap: an execution begins as WAITING or QUEUED."""
    forward = _closure({State.WAITING, State.QUEUED}, {(r.source, r.target) for r in TRANSITIONS})
    ending = _closure(set(TERMINAL), {(r.target, r.source) for r in TRANSITIONS})

    assert forward >= UNFINISHED
    assert ending >= UNFINISHED


def _closure(start: set[State], steps: set[tuple[State, State]]) -> set[State]:
    reached = set(start)
    while more := {target for source, target in steps if source in reached} - reached:
        reached |= more
    return reached


@pytest.mark.sem("SEM-STATE-1")
@pytest.mark.parametrize(
    "entry", TRANSITIONS, ids=lambda entry: f"{entry.source.name}-{entry.event.name}-{entry.target.name}"
)
class TestEveryRow:
    """What must be true of each row, by what it does."""

    def test_only_a_claim_raises_the_epoch_and_counts(self, entry: Row) -> None:
        """Epoch, attempt and lease come together, by one event."""
        together = {Effect.RAISE_EPOCH, Effect.COUNT_ATTEMPT, Effect.GRANT_LEASE}

        assert (entry.event is Event.CLAIM) == bool(together & set(entry.effects)) == (together <= set(entry.effects))

    def test_a_lease_ends_where_its_state_does(self, entry: Row) -> None:
        """And nowhere else."""
        leaves = entry.source in LEASED and entry.target not in LEASED

        assert (Effect.END_LEASE in entry.effects) == leaves

    def test_an_end_is_written_with_what_is_owed(self, entry: Row) -> None:
        """Whoever ends an execution also says what is left to do (R14)."""
        ends = entry.target in TERMINAL and entry.source not in TERMINAL

        assert (Effect.END in entry.effects) == ends

    def test_an_end_is_left_by_opening_a_generation(self, entry: Row) -> None:
        """And nothing else opens one."""
        assert (Effect.REOPEN in entry.effects) == (entry.source in TERMINAL and entry.target not in TERMINAL)

    def test_a_person_who_has_seen_a_death_may_set_it_aside(self, entry: Row) -> None:
        """And nothing else stays where it is once it has ended."""
        assert (Effect.SET_ASIDE in entry.effects) == (entry.source in TERMINAL and entry.target in TERMINAL)

    def test_a_death_is_shown_to_a_person(self, entry: Row) -> None:
        """The attention index holds every dead execution and no other."""
        dies = entry.target is State.DEAD and entry.source is not State.DEAD

        assert (Effect.LETTER in entry.effects) == dies

    def test_a_retry_has_a_time(self, entry: Row) -> None:
        """Whatever comes back from a run waits for an instant."""
        comes_back = entry.source is State.RUNNING and entry.target is State.RETRY

        assert (Effect.BACK_OFF in entry.effects) == comes_back

    def test_what_ends_or_starts_leaves_the_waiting_index(self, entry: Row) -> None:
        """A state that may stand there is left with its place."""
        may_wait = entry.source in {State.WAITING, State.RETRY}
        leaves = entry.target in TERMINAL | {State.RUNNING} or entry.event is Event.RELEASE

        assert not (may_wait and leaves) or Effect.LEAVE_WAITING_INDEX in entry.effects

    def test_a_result_needs_the_holder(self, entry: Row) -> None:
        """What only a running worker can know comes with its epoch."""
        of_a_worker = {
            Event.HEARTBEAT,
            Event.SUCCEED,
            Event.FAIL,
            Event.STOPPED,
            Event.GIVE_BACK,
            Event.RETRY_AFTER,
        }

        assert (entry.event in of_a_worker) == (entry.fence is Fence.HOLDER)

    def test_a_lease_is_taken_from_a_holder_only_when_it_is_over(self, entry: Row) -> None:
        """Whoever moves a run without being its holder waits for its lease; a cancel asks, and ends nothing."""
        by_others = entry.source in LEASED and entry.fence is not Fence.HOLDER

        assert not by_others or entry.fence is Fence.EXPIRED or entry.target is State.CANCELLING

    def test_it_is_found_by_its_ends(self, entry: Row) -> None:
        """No two rows lead from one state to another by one event."""
        assert row(entry.event, entry.source, entry.target) is entry
