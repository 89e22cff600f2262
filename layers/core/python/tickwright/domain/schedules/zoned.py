"""Where an expression's local times fall on the UTC time line.

Joins the walk (naive local time) with a zone's pieces (offsets and clock-change policy). Must not know start, end or
lists of expressions. Bounded: far from a match it jumps, near it it goes piece by piece. Promise: SEM-SCHED-6 to 10.
"""

from typing import NamedTuple

from tickwright.domain.schedules.expression import Expression
from tickwright.domain.schedules.walk import DAY_MAX, DAY_MIN, DAY_S, first_match, last_match
from tickwright.domain.schedules.zones import Piece, Zone, piece_at

# Beyond this distance a change of the clock (under a day) can no longer repeat a local time already passed.
_FAR_S = 2 * DAY_S
UTC_MIN, UTC_MAX = (DAY_MIN + 2) * DAY_S, (DAY_MAX - 1) * DAY_S
# About three pieces a candidate, so some forty candidates. Only a schedule all of whose times fall into gaps that it
# skips (02:30 on the Sunday of the change) comes this far, and it has no tick.
_PIECES_MAX = 128


class ZonedTick(NamedTuple):
    """A tick in UTC seconds; `nominal` is the skipped local time that it stands for, if it does."""

    at: int
    nominal: int | None


def next_zoned(expression: Expression, zone: Zone, from_s: int) -> ZonedTick | None:
    """The first tick at or after `from_s`, or None if none is left before the calendar ends."""
    cursor = max(from_s, UTC_MIN)
    for _ in range(_PIECES_MAX):
        if cursor > UTC_MAX:
            return None
        piece = piece_at(zone, cursor)
        local = first_match(expression, cursor + piece.offset)
        live = expression.periodic or piece.wall_clock_live
        if cursor == piece.start and local != cursor + piece.offset:
            owed = _owed(expression, piece)
            if owed is not None:
                return ZonedTick(cursor, owed)
        if local is None:
            return None
        if live and local < piece.end + piece.offset:
            return ZonedTick(local - piece.offset, None)
        cursor = piece.end if piece.end - cursor < _FAR_S else max(piece.end, local - DAY_S)
    return None


def previous_zoned(expression: Expression, zone: Zone, to_s: int, floor_s: int) -> ZonedTick | None:
    """The last tick at or before `to_s` and at or after `floor_s`."""
    cursor, floor = min(to_s, UTC_MAX), max(floor_s, UTC_MIN)
    for _ in range(_PIECES_MAX):
        if cursor < floor:
            return None
        piece = piece_at(zone, cursor)
        local = last_match(expression, cursor + piece.offset)
        live = expression.periodic or piece.wall_clock_live
        if live and local is not None and local >= piece.start + piece.offset:
            return _not_before(ZonedTick(local - piece.offset, None), floor)
        owed = _owed(expression, piece)
        if owed is not None:
            return _not_before(ZonedTick(piece.start, owed), floor)
        if local is None:
            return None
        before = piece.start - 1
        cursor = before if cursor - piece.start < _FAR_S else min(before, local + DAY_S)
    return None


def _owed(expression: Expression, piece: Piece) -> int | None:
    """The first local time that the clock jumped over at the start of the piece and that is owed."""
    if expression.periodic or piece.missed_from == piece.missed_until:
        return None
    local = first_match(expression, piece.missed_from)
    return local if local is not None and local < piece.missed_until else None


def _not_before(tick: ZonedTick, floor: int) -> ZonedTick | None:
    return tick if tick.at >= floor else None
