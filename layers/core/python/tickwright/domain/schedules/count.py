"""How many ticks a list of expressions has in a span, without visiting them one by one.

A local day's ticks are the bits of one number, so ten years of minutes cost one look a day. Exact up to the limit, then
"at least". Must not know start, end or kinds of schedule. Promise: SEM-SCHED-11.
"""

from functools import lru_cache

from tickwright.domain.schedules.expression import Expression
from tickwright.domain.schedules.walk import DAY_S, first_match, next_day
from tickwright.domain.schedules.zoned import UTC_MAX, UTC_MIN, next_zoned
from tickwright.domain.schedules.zones import Piece, Zone, piece_at

_MINUTE_S = 60
# A century of a zone with two changes a year; longer spans are answered with "at least".
_PIECES_MAX = 800


def count_cron(expressions: tuple[Expression, ...], zone: Zone, span: tuple[int, int], limit: int) -> tuple[int, bool]:
    """Ticks in the UTC seconds of the span, both ends included; False when the count stopped early."""
    low, last = max(span[0], UTC_MIN), min(span[1], UTC_MAX)
    total = 0
    for _ in range(_PIECES_MAX):
        if low > last:
            return total, True
        piece = piece_at(zone, low)
        count = _count_piece(expressions, piece, (low, min(piece.end, last + 1)), limit - total)
        total += count
        if total > limit:
            return total, False
        # An empty piece of a rare schedule is followed by many; the walk knows where the next tick is.
        low = piece.end if count else _next_of(expressions, zone, piece.end)
    return total, False


def _next_of(expressions: tuple[Expression, ...], zone: Zone, from_s: int) -> int:
    found = [next_zoned(one, zone, from_s) for one in expressions]
    return min((tick.at for tick in found if tick is not None), default=UTC_MAX + 1)


def _count_piece(expressions: tuple[Expression, ...], piece: Piece, span: tuple[int, int], limit: int) -> int:
    low, high = span
    live = tuple(one for one in expressions if one.periodic or piece.wall_clock_live)
    count = _count_local(live, low + piece.offset, high + piece.offset, limit) if live else 0
    return count + (low == piece.start and _only_owed(expressions, live, piece))


def _only_owed(expressions: tuple[Expression, ...], live: tuple[Expression, ...], piece: Piece) -> bool:
    """Whether the start of the piece is a tick only because it makes up for skipped local times."""
    start = piece.start + piece.offset
    if any(first_match(one, start) == start for one in live):
        return False
    return any(_owes(one, piece) for one in expressions if not one.periodic)


def _owes(expression: Expression, piece: Piece) -> bool:
    local = first_match(expression, piece.missed_from)
    return local is not None and local < piece.missed_until


def _count_local(expressions: tuple[Expression, ...], low: int, high: int, limit: int) -> int:
    """Matching local seconds in [low, high), counted no further than just past the limit."""
    unit = _MINUTE_S if all(one.second_bits == 1 for one in expressions) else 1
    day, total = low // DAY_S, 0
    while total <= limit:
        coming = [next_day(one, day) for one in expressions]
        found = min((one for one in coming if one is not None), default=None)
        if found is None or found * DAY_S >= high:
            break
        bits = 0
        for one, its_day in zip(expressions, coming, strict=True):
            bits |= _bits_of_day(one, unit) if its_day == found else 0
        total += _clipped(bits, low - found * DAY_S, high - found * DAY_S, unit).bit_count()
        day = found + 1
    return total


def _clipped(bits: int, low: int, high: int, unit: int) -> int:
    """The bits of the seconds from low up to high."""
    first = max(0, -(-low // unit))
    end = max(0, -(-high // unit))
    return (bits >> first << first) & ((1 << end) - 1) if end < DAY_S // unit else bits >> first


def _bits_of_day(expression: Expression, unit: int) -> int:
    """A bit for each matching minute of the day, or second if the unit is a second."""
    return expression.minute_bits if unit == _MINUTE_S else _seconds_of_day(expression)


@lru_cache(maxsize=64)
def _seconds_of_day(expression: Expression) -> int:
    bits = 0
    for minute in range(DAY_S // _MINUTE_S):
        if expression.minute_bits >> minute & 1:
            bits |= expression.second_bits << minute * _MINUTE_S
    return bits
