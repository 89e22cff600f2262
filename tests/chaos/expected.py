"""Which ticks of a job must stand in the ledger, by what its owner was told and by plain arithmetic.

Each answer says where the job goes on (`next_ms`) and up to where it was decided before (`decided_ms`); so every
version of a job has an exact chain of ticks that must be there, and all others are ghosts. An edit that waits is a part
of the chain, from its time on. What an answer says is itself checked against the clock. Must not look at executions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from tests.chaos.history import Change, Kind, Once, Story
from tickwright.domain.jobs import JobStatus

FOREVER_MS = 1 << 62


@dataclass(slots=True, kw_only=True)
class Expected:
    """What a job owes its owner."""

    must: dict[int, int] = field(default_factory=dict)  # tick -> the definition's version that it runs with
    held_back: list[int] = field(default_factory=list)  # ticks that a pause passed over: one row for all of them
    undecided: dict[int, int] = field(default_factory=dict)  # ticks that nobody decided in time -> until when
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
        expected.held_back += _all_held_back(story.changes)
    return expected


def _chain(change: Change) -> Iterator[int]:
    if change.next_ms is None:
        return
    waits = change.waits
    until_ms = FOREVER_MS if waits is None else waits.at_ms
    if change.next_ms < until_ms:
        yield change.next_ms
        yield from takewhile(lambda tick: tick < until_ms, change.rhythm.after(change.next_ms))
    if waits is not None:
        yield from waits.rhythm.after(max(waits.at_ms - 1, change.decided_ms or -1))


def _version_of(change: Change, tick: int) -> int:
    waits = change.waits
    return change.definition_version if waits is None or tick < waits.at_ms else waits.version


def _note_chain(
    expected: Expected, change: Change, following: Change | None, in_time: Callable[[int, int], bool]
) -> None:
    decided_ms = FOREVER_MS if following is None else following.decided_ms or -1
    invoked_ms = -1 if following is None else following.invoked_ms
    for tick in takewhile(lambda at: at <= max(decided_ms, invoked_ms), _chain(change)):
        if tick <= decided_ms:
            expected.must[tick] = _version_of(change, tick)
        # A write that was held up may have come only just before its answer.
        elif in_time(max(tick, change.acked_ms), invoked_ms):
            expected.undecided[tick] = invoked_ms


def _wrong_next(story: Story, before: Sequence[Change], change: Change) -> str | None:
    """Each kind of change says where the job goes on; what it says must be one of the instants that it may name."""
    decided_ms = change.decided_ms or -1
    kept = next((tick for tick in _chain(before[-1]) if tick > decided_ms), None) if before else None
    match change.kind:
        case Kind.PAUSE | Kind.CANCEL:
            right = change.next_ms is None
        case Kind.EDIT if change.status is JobStatus.PAUSED:
            right = change.next_ms is None
        case Kind.SUBMIT if isinstance(change.rhythm, Once):
            right = change.next_ms == change.rhythm.at_ms
        case Kind.RESUME if story.catches_up_paused:
            kept = next((tick for tick in _chain(before[-2]) if tick > decided_ms), None)
            right = change.next_ms == kept or _is_at_edit(change, kept)
        case Kind.EDIT if change.next_ms is not None and change.next_ms <= change.acked_ms:
            right = change.next_ms == kept or _is_first(change, _counts_from(before, change))
        case _:
            right = _is_first(change, _counts_from(before, change))
    told = f"{change.kind.value} at {change.invoked_ms}..{change.acked_ms} goes on at {change.next_ms}"
    return None if right else f"{told}; decided {decided_ms}, due before it {kept}"


def _is_at_edit(change: Change, kept: int | None) -> bool:
    """Whether a job goes on with the edit that waits: no tick is left before it."""
    waits, decided_ms = change.waits, change.decided_ms or -1
    if waits is None or change.next_ms is None or (kept is not None and kept < waits.at_ms):
        return False
    return waits.at_ms <= change.next_ms <= max(waits.at_ms, decided_ms + 1)


def _counts_from(before: Sequence[Change], change: Change) -> int:
    """From when the version in force has a say: one that waited is put in force ahead of its time."""
    waited = (earlier.waits for earlier in before if earlier.waits is not None)
    return max((one.at_ms for one in waited if one.version == change.definition_version), default=0)


def _is_first(change: Change, counts_from_ms: int) -> bool:
    """The first tick after the moment of the change, which lies between call and answer.

    And after all that was decided, and of a version that counts.
    """
    settled_ms = max(change.decided_ms or -1, counts_from_ms - 1)
    earliest, _ = _goes_on(change, max(change.invoked_ms, settled_ms))
    _, latest = _goes_on(change, max(change.acked_ms, settled_ms))
    if change.next_ms is None or earliest is None:
        return change.next_ms is latest is None
    on_beat = next(change.rhythm.after(change.next_ms - 1), None) == change.next_ms
    at_edit = change.waits is not None and change.next_ms >= change.waits.at_ms
    return (on_beat or at_edit) and earliest <= change.next_ms <= (latest or FOREVER_MS)


def _goes_on(change: Change, instant_ms: int) -> tuple[int | None, int | None]:
    """Where a job is due next after an instant, at the earliest and at the latest: its tick, or the edit that waits.

    The edit is made at its time, or past a tick that was decided ahead of its own.
    """
    tick = next(change.rhythm.after(instant_ms), None)
    if change.waits is None or (tick is not None and tick < change.waits.at_ms):
        return tick, tick
    return change.waits.at_ms, max(change.waits.at_ms, (change.decided_ms or -1) + 1)


def _all_held_back(changes: Sequence[Change]) -> Iterator[int]:
    """The ticks of all pauses, up to the resume, or to the edit that a pause has seen."""
    for number, paused in enumerate(changes):
        if paused.kind is not Kind.PAUSE or not number:
            continue
        before, last = changes[number - 1], changes[-1]
        chain, in_force = list(_up_to(_chain(before), last)), list(_up_to(_in_force(before), last))
        waits, since_ms = before.waits, paused.decided_ms or -1
        for later in changes[number + 1 :]:
            if later.kind is Kind.RESUME or (later.kind is Kind.EDIT and later.waits is None):
                yield from (tick for tick in chain if since_ms < tick <= later.invoked_ms)
                chain, since_ms = list(_up_to(later.rhythm.after(later.acked_ms), last)), later.acked_ms
                waits, in_force = None, chain
            elif later.kind is Kind.EDIT and later.waits is not None:
                # One that waited and has not come to its time is forgotten.
                in_force = in_force if waits is not None and later.definition_version != waits.version else chain
                waits = later.waits
                old = [tick for tick in in_force if tick < waits.at_ms]
                chain = [*old, *_up_to(waits.rhythm.after(waits.at_ms - 1), last)]
            if later.status is not JobStatus.PAUSED:
                break


def _in_force(change: Change) -> Iterator[int]:
    """The ticks as if no edit waited."""
    if change.next_ms is None:
        return
    if change.waits is None or change.next_ms < change.waits.at_ms:
        yield change.next_ms
        yield from change.rhythm.after(change.next_ms)
    else:
        yield from change.rhythm.after(change.next_ms - 1)


def _up_to(ticks: Iterator[int], last: Change) -> Iterator[int]:
    return takewhile(lambda tick: tick <= last.invoked_ms, ticks)
