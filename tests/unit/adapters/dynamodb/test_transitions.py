"""Do the literal conditions allow exactly the transitions of the domain's table, behind the fences that it demands?"""

import re

import pytest

from tests.unit.adapters.dynamodb.literals import all_writes
from tickwright.adapters.dynamodb.expressions import executions, moves
from tickwright.adapters.dynamodb.expressions.write import Write
from tickwright.domain.transitions import TERMINAL, TRANSITIONS, Event, Fence, Guard, Row, State, rows

MOVES = {name: write for name, write in all_writes().items() if write.moves is not None}
EVERY_MOVE = pytest.mark.parametrize("write", MOVES.values(), ids=list(MOVES))
STATES = {state.value.lower(): state for state in State}
# What a fence or a guard of the table must leave in the text of a condition.
FENCES = {
    Fence.HOLDER: "#leaseEpoch = :epoch",
    Fence.SEEN: "#leaseEpoch = :seenEpoch",
    Fence.EXPIRED: "#leaseUntil < :leaseOver",
}
GUARDS = {
    Guard.ATTEMPTS_LEFT: "#attempt < #maxAttempts",
    Guard.RETRYING: "#attempt < #maxAttempts",
    Guard.RETRY_DUE: "#retryAt <= :now",
    Guard.IN_TIME: "#deadlineAt > :now",
    Guard.ASKED_SELDOM: "#retryAfters < :retryAftersMax",
    Guard.NOTHING_OWED: "attribute_not_exists(#owed)",
    Guard.ON_THE_LIST: "attribute_exists(#failedAt) AND attribute_not_exists(#owed)",
}
# A transition that nothing writes yet: what waits behind a quota or an active one is let go by later work.
UNWRITTEN = {(State.WAITING, Event.PROMOTE), (State.WAITING, Event.RELEASE)}


def condition_of(write: Write) -> str:
    return " ".join(write.condition.split())


def named_states(write: Write) -> set[State]:
    """The states that a condition names."""
    return {STATES[name] for name in re.findall(r":(\w+)", write.condition) if name in STATES}


def rows_of(write: Write) -> list[Row]:
    """The rows of the table that a write carries out: where it applies at all, it has this shape."""
    assert write.moves is not None
    event, target = write.moves
    fitting = [row for row in rows(event) if row.target is target]
    return [row for row in fitting if row.source in named_states(write)]


@EVERY_MOVE
@pytest.mark.sem("SEM-STATE-1")
def test_a_condition_allows_only_sources_of_the_table(write: Write) -> None:
    """No state is named that the table does not let the event leave, and the update leads where the table says."""
    assert write.moves is not None
    event, target = write.moves
    sources = {row.source for row in rows(event) if row.target is target}

    assert named_states(write)
    assert named_states(write) <= sources
    if target not in sources:
        assert f"#state = :{target.value.lower()}" in " ".join(write.update.split())


@pytest.mark.sem("SEM-STATE-1")
def test_every_transition_of_the_table_is_written() -> None:
    """Each row has at least one literal whose condition names its source."""
    written = {(row.source, row.event, row.target) for write in MOVES.values() for row in rows_of(write)}

    assert {row for row in TRANSITIONS if (row.source, row.event, row.target) not in written} == {
        row for row in TRANSITIONS if (row.source, row.event) in UNWRITTEN
    }


@EVERY_MOVE
@pytest.mark.sem("SEM-FENCE-1")
def test_a_condition_has_the_fence_that_the_table_demands(write: Write) -> None:
    """The epoch of the holder, the epoch that was seen, or a lease that is over for everybody."""
    fences = {row.fence for row in rows_of(write)} - {Fence.ANYONE}

    assert all(FENCES[fence] in condition_of(write) for fence in fences)


@EVERY_MOVE
def test_a_condition_has_the_guards_that_the_table_demands(write: Write) -> None:
    """Attempts left, a retry that is due, a deadline ahead, asked seldom."""
    guards = {row.only_if for row in rows_of(write)} & GUARDS.keys()

    assert all(GUARDS[guard] in condition_of(write) for guard in guards)


@pytest.mark.parametrize(
    "write", [executions.REAP_RETRY, executions.REAP_DEAD, executions.REAP_DEAD_OWING, moves.REAP_STOPPING]
)
def test_a_reap_names_the_very_lease_that_was_judged(write: Write) -> None:
    """Its epoch and its end: a heartbeat in between changes the one, a claim the other."""
    assert "#leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil" in condition_of(write)


@pytest.mark.parametrize("write", [moves.CANCEL, moves.CANCEL_OWING, moves.EXPIRE, moves.EXPIRE_OWING])
def test_a_write_by_sight_names_the_state_that_was_seen(write: Write) -> None:
    """One of those that the table allows, and that very one."""
    assert "#state = :seenState" in condition_of(write)


def test_what_is_owed_is_struck_from_ended_executions_only() -> None:
    """All four ends, and no other state (R13)."""
    assert named_states(executions.STRIKE_OWED) == TERMINAL
    assert FENCES[Fence.SEEN] in condition_of(executions.STRIKE_OWED)
