"""Does every pair of operations keep the promises in every order; and would a broken rule be found?

The command `make pairs` does the same with a table; here each meeting is a test of its own.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations_with_replacement

import pytest

from tests.pairs import plants
from tests.pairs.__main__ import table
from tests.pairs.explore import Found, explored, explored_alone, scene_of
from tests.pairs.scenes import OF_THE_DEAD, OPERATIONS, Meeting, meetings

# By scenes that are quick to explore; the others take a second or several each.
_QUICK = ("alive", "redriven", "settled", "lease-over")
MEETINGS = [
    pytest.param(meeting, id=f"{meeting.one}-{meeting.other}-{meeting.scene}", marks=marks)
    for meeting in meetings()
    for marks in [() if meeting.scene in _QUICK else pytest.mark.slow]
]
# Which meeting shows a bug first, for each that can be put in.
FOUND_BY = {
    "no-fence": Meeting("claim", "complete", "dead"),
    "two-keys": Meeting("cancel", "cancel", "last"),
    "claim-anyway": Meeting("claim", "heartbeat", "alive"),
    "no-retract": Meeting("cancel", "cancel", "running"),
    "no-journal": Meeting("claim", "run-now", "dead"),
    "no-generation": Meeting("claim", "redrive", "dead"),
    "any-strike": Meeting("fail", "settle", "redriven"),
    "owing": Meeting("settle", "redrive", "dead"),
    "no-page": Meeting("redrive", "redrive", "settled"),
    "no-tombstone": Meeting("tick", "cancel", "due"),
}


def test_every_two_of_the_twelve_operations_meet() -> None:
    """Each with each other and with itself, in one scene at least."""
    met = {frozenset({meeting.one, meeting.other}) for meeting in meetings()}

    every_two = {frozenset(pair) for pair in combinations_with_replacement(OPERATIONS, 2)}
    assert {pair for pair in met if pair <= set(OPERATIONS)} == every_two
    assert len(every_two) == 78


@pytest.mark.sem("SEM-DLQ-3")
def test_what_is_decided_on_the_dead_meets_whatever_else_may_happen_to_a_death() -> None:
    """A discard and a rerun, with each other and with what a tick, a stop or another run of the job does."""
    met = {frozenset({meeting.one, meeting.other}) for meeting in meetings()}
    others = ("tick", "cancel", "pause", "run-now", "redrive", *OF_THE_DEAD)

    assert {frozenset({one, other}) for one in OF_THE_DEAD for other in others} <= met


def test_the_table_has_a_line_for_each_pair_that_meets() -> None:
    """Whatever operations are added: the command ends with it."""
    found = [Found(meeting=meeting, orders=1, endings=1, violations=()) for meeting in meetings()]

    head, *lines = table(found)

    assert head.startswith("pair")
    assert len(lines) == len({(one.meeting.one, one.meeting.other) for one in found})


@pytest.mark.sem("SEM-HANDOVER-1")
def test_a_hand_over_meets_whatever_else_may_be_said_of_what_runs() -> None:
    """With itself, and with a claim, every report, a reap and all that owners may want of the job."""
    met = {frozenset({meeting.one, meeting.other}) for meeting in meetings()}
    others = ("tick", "claim", "heartbeat", "complete", "fail", "reap", "cancel", "pause", "edit", "run-now", "redrive")

    assert {frozenset({"hand-over", other}) for other in (*others, "hand-over")} <= met


@pytest.mark.sem("SEM-TICK-1", "SEM-FENCE-1", "SEM-OVERLAP-1", "SEM-CANCEL-1", "SEM-DEAD-1", "SEM-REDRIVE-1")
@pytest.mark.parametrize("meeting", MEETINGS)
async def test_the_promises_hold_whatever_the_order_and_whoever_dies(meeting: Meeting) -> None:
    """Every order of the calls, a death at every boundary, and fresh processes until the world is quiet."""
    found = await explored(meeting, await scene_of(meeting.scene))

    assert found.violations == ()
    assert found.endings > 0


@pytest.mark.slow
@pytest.mark.parametrize("plant", plants.PLANTS)
def test_a_bug_that_is_put_in_is_found(plant: str) -> None:
    """In a process of its own, since a plant replaces a rule for good."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=plants.install, initargs=(plant,)) as pool:
        found = pool.submit(explored_alone, FOUND_BY[plant]).result()

    assert found.violations != ()
