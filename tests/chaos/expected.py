"""Which ticks of a job must stand in the ledger, by what its owner was told and by plain arithmetic.

Each answer says where the job goes on (`next_ms`) and up to where it was decided before (`decided_ms`); so every
version of a job has an exact chain of ticks that must be there, and all others are ghosts. What an answer says is
itself checked against the clock. Must not look at executions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from tests.chaos.history import Change, Kind, Once, Story

FOREVER_MS = 1 << 62


@dataclass(slots=True, kw_only=True)
class Expected:
    """What a job owes its owner."""

    must: dict[int, int] = field(default_factory=dict)  # tick -> the definition's version that it runs with
    held_back: list[int] = field(default_factory=list)  # ticks that a pause passed over: one row for all of them
    undecided: list[int] = field(default_factory=list)  # ticks that nobody decided although there was time enough
    wrong: list[str] = field(default_factory=list)  # answers that name a wrong next tick


def expected_of(story: Story, *, in_time: Callable[[int, int], bool]) -> Expected:
    """The ticks of all versions of a job. `in_time(t, u)`: between t and u there was time enough to decide a tick."""
    expected = Expected()
    for number, change in enumerate(story.changes):
        before = story.changes[:number]
        following = story.changes[number + 1] if number + 1 < len(story.changes) else None
        _note_chain(expected, change, following, in_time)
        if (told := _wrong_next(story, before, change)) is not None:
            expected.wrong.append(told)
    if not story.catches_up_paused:
        for before_it, paused, resumed in zip(story.changes, story.changes[1:], story.changes[2:], strict=False):
            if (paused.kind, resumed.kind) == (Kind.PAUSE, Kind.RESUME):
                expected.held_back += _held_back(before_it, paused, resumed)
    return expected


def _chain(change: Change) -> Iterator[int]:
    if change.next_ms is not None:
        yield change.next_ms
        yield from change.rhythm.after(change.next_ms)


def _note_chain(
    expected: Expected, change: Change, following: Change | None, in_time: Callable[[int, int], bool]
) -> None:
    decided_ms = FOREVER_MS if following is None else following.decided_ms or -1
    invoked_ms = -1 if following is None else following.invoked_ms
    for tick in takewhile(lambda at: at <= max(decided_ms, invoked_ms), _chain(change)):
        if tick <= decided_ms:
            expected.must[tick] = change.definition_version
        # A write that was held up may have come only just before its answer.
        elif in_time(max(tick, change.acked_ms), invoked_ms):
            expected.undecided.append(tick)


def _wrong_next(story: Story, before: Sequence[Change], change: Change) -> str | None:
    """Each kind of change says where the job goes on; what it says must be one of the instants that it may name."""
    decided_ms = change.decided_ms or -1
    kept = next((tick for tick in _chain(before[-1]) if tick > decided_ms), None) if before else None
    match change.kind:
        case Kind.PAUSE | Kind.CANCEL:
            right = change.next_ms is None
        case Kind.SUBMIT if isinstance(change.rhythm, Once):
            right = change.next_ms == change.rhythm.at_ms
        case Kind.RESUME if story.catches_up_paused:
            kept = next((tick for tick in _chain(before[-2]) if tick > decided_ms), None)
            right = change.next_ms == kept
        case Kind.EDIT if change.next_ms is not None and change.next_ms <= change.acked_ms:
            right = change.next_ms == kept or _is_first(change)
        case _:
            right = _is_first(change)
    told = f"{change.kind.value} at {change.invoked_ms}..{change.acked_ms} goes on at {change.next_ms}"
    return None if right else f"{told}; decided {decided_ms}, due before it {kept}"


def _is_first(change: Change) -> bool:
    """The first tick after the moment of the change, which lies between call and answer.

    And after all that was decided.
    """
    decided_ms = change.decided_ms or -1
    earliest = next(change.rhythm.after(max(change.invoked_ms, decided_ms)), None)
    latest = next(change.rhythm.after(max(change.acked_ms, decided_ms)), None)
    if change.next_ms is None or earliest is None:
        return change.next_ms is latest is None
    on_beat = next(change.rhythm.after(change.next_ms - 1), None) == change.next_ms
    return on_beat and earliest <= change.next_ms <= (latest or FOREVER_MS)


def _held_back(before_it: Change, paused: Change, resumed: Change) -> list[int]:
    """The ticks from the last decision before a pause up to the resume."""
    due = takewhile(lambda tick: tick <= resumed.invoked_ms, _chain(before_it))
    return [tick for tick in due if tick > (paused.decided_ms or -1)]
