"""Rules about what a schedule and its policies say: calendars, windows, how many runs, and how fast missed ones come.

A calendar is judged with the versions that may have stood when the tick was looked at: between the look-ahead before it
and the birth of its row. So a calendar that is put once is judged exactly, and one that is put again within a bound.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from tests.chaos.book import Book, Violation
from tests.chaos.history import Closing, Put, Slots, is_open
from tests.chaos.rules_ticks import covers, runs_of_schedule
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.limits import RUN_DEADLINE_S_DEFAULT

_MINUTE_MS = 60_000
_FOREVER_MS = 1 << 62


def calendars_are_kept(book: Book) -> Iterator[Violation]:
    """A closed tick has no row of its own, an open one lies in no closed range; the range names what closed it."""
    if not book.story.puts:
        return
    for row in book.rows:
        if row.cause is not Cause.SCHEDULE:
            continue
        if row.passed is None:
            if not any(is_open(held, row.scheduled_at) for held in _may_have_stood(book, row)):
                yield book.told("CalendarIsKept", f"{row.key} ({row.state.value}) was closed all the time")
        elif row.reason is Reason.BLACKOUT:
            yield from _blackout_is_right(book, row)


def _blackout_is_right(book: Book, row: Execution) -> Iterator[Violation]:
    assert row.passed is not None
    ticks = [tick for tick in book.expected.must if covers(row, tick)]
    possible = [held for held in _may_have_stood(book, row) if not any(is_open(held, tick) for tick in ticks)]
    if not possible:
        yield book.told("CalendarIsKept", f"{row.key} passes over ticks of which one was open all the time")
    first_by = (row.passed.by or "").split(", ")[0].split(" and ")  # including ones close together
    labels = {f"{put.closing.name}@{put.version}": put.closing for put in book.story.puts}
    named = [labels[label] for label in first_by if label in labels]
    if len(named) < len(first_by) or is_open(named, row.passed.first):
        yield book.told("CalendarIsNamed", f"{row.key} is closed by {row.passed.by}, which does not close it")


def _may_have_stood(book: Book, row: Execution) -> Iterator[Sequence[Closing]]:
    """Each set of calendars that may have been read when the tick was looked at."""
    history = book.history
    from_ms = row.scheduled_at - history.durations.lookahead_ms - history.apart_ms
    until_ms = row.created_at + history.apart_ms
    names = sorted({put.closing.name for put in book.story.puts})
    each = [[put for put in book.story.puts if put.closing.name == name] for name in names]
    yield from product(*(_stood(puts, from_ms, until_ms) for puts in each))


def _stood(puts: Sequence[Put], from_ms: int, until_ms: int) -> list[Closing]:
    """The versions of one calendar that may have stood within a span."""
    ends = [*(put.acked_ms for put in puts[1:]), _FOREVER_MS]
    return [
        put.closing for put, end_ms in zip(puts, ends, strict=True) if put.invoked_ms <= until_ms and end_ms >= from_ms
    ]


def slots_are_named(book: Book) -> Iterator[Violation]:
    """A tick in a window names the time that it stands for; one whose schedule was edited since may not know it."""
    edited = len(book.story.rhythms) > 1
    for row in book.rows:
        rhythm = book.story.rhythms.get(row.job_version)
        if not isinstance(rhythm, Slots) or row.cause is not Cause.SCHEDULE or row.passed is not None:
            continue
        nominal = rhythm.nominal(row.scheduled_at)
        told = None if nominal is None else to_rfc3339(Instant(nominal))
        if row.nominal != told and not (edited and row.nominal is None):
            yield book.told("SlotIsNamed", f"{row.key} stands for {row.nominal}, by arithmetic for {told}")


def runs_are_bounded(book: Book) -> Iterator[Violation]:
    """No more runs than the schedule has."""
    most, count = book.story.runs_max, len(runs_of_schedule(book))
    if most is not None and count > most:
        yield book.told("MaxRuns", f"{count} runs of {most}")


def missed_are_paced(book: Book) -> Iterator[Violation]:
    """With a rate, a tick that is decided late comes no sooner after the one before it.

    When a tick was decided is read from its run deadline, which counts from then if that was later than its time.
    """
    rate = book.story.rate_per_min
    if rate is None:
        return
    history, runs = book.history, [row for row in runs_of_schedule(book) if row.generation == 1]
    for one, two in pairwise(runs):
        late = _decided_ms(two) - two.scheduled_at > history.durations.missed_after_ms + history.apart_ms
        if late and _decided_ms(two) - _decided_ms(one) < _MINUTE_MS // rate - history.apart_ms:
            yield book.told("RatePerMin", f"{two.key} follows {one.key} after {_decided_ms(two) - _decided_ms(one)} ms")


def _decided_ms(row: Execution) -> int:
    assert row.run_deadline_at is not None
    return row.run_deadline_at - RUN_DEADLINE_S_DEFAULT * 1_000
