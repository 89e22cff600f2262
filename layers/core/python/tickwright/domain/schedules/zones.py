"""A zone's time line, cut into pieces of one offset, with the clock-change policy written into each piece.

Wall-clock schedules fire once for a time that the clock skips and once for one that it repeats; periodic ones follow
real time. A change of three hours or more corrects the zone: nothing is made up for. Must not know expressions.
The data is that of the tzdata package and never the machine's. Promise: SEM-SCHED-9, SEM-SCHED-10.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from pkgutil import get_data
from typing import NewType
from zoneinfo import ZoneInfo


class Gap(StrEnum):
    """What becomes of a wall-clock time that the clock jumps over."""

    SHIFT = "shift"  # fires once, at the first instant after the gap
    SKIP = "skip"


class Overlap(StrEnum):
    """Which copy of a repeated wall-clock time fires."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


# A zone's name and its policy in one text: what a time line depends on. A text, because it is a cache key in the
# innermost loop and the hash of a text is computed once.
Zone = NewType("Zone", str)


@dataclass(frozen=True, slots=True)
class Piece:
    """From `start` up to `end` (UTC seconds) the local time is UTC + offset."""

    start: int
    end: int
    offset: int
    wall_clock_live: bool = True  # False in the copy of a repeated hour that wall-clock schedules leave out
    missed_from: int = 0  # local seconds [missed_from, missed_until) that `start` jumped over and makes up for
    missed_until: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """The clock is set from one offset to another at `at` (UTC seconds)."""

    at: int
    before: int
    after: int

    @property
    def forward(self) -> int:
        """Seconds that the clock jumps over, negative if it goes back."""
        return self.after - self.before

    @property
    def back(self) -> int:
        """Seconds that the clock repeats, negative if it jumps."""
        return self.before - self.after


NAME_CHARS_MAX = 64  # the longest of the IANA names has 32
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
# Three hours: Debian's cron treats larger steps as corrections of the clock, not as summer time.
_CLOCK_CHANGE_S_MAX = 3 * 3_600
# About 388 days: one look-up covers a year's schedule, and a power of two divides fast.
_CHUNK_S = 2**25
# No two changes of any zone are nearer than 6.9 days (a test reads every zone), so each step holds one at most.
_STEP_S = 6 * 86_400
_MARGIN_S = 2 * 86_400
_UTC_FIRST = int(datetime(1, 1, 3, tzinfo=UTC).timestamp())
_UTC_LAST = int(datetime(9999, 12, 29, tzinfo=UTC).timestamp())


def zone_under(name: str, gap: Gap = Gap.SHIFT, overlap: Overlap = Overlap.FIRST) -> Zone:
    """A zone under one policy."""
    return Zone(f"{name} {gap.value} {overlap.value}")


@lru_cache(maxsize=1024)
def load_zone(name: str) -> ZoneInfo:
    """The zone of the pinned tzdata package, or ValueError."""
    if len(name) > NAME_CHARS_MAX or not _NAME.fullmatch(name):
        raise ValueError(_no_zone(name))
    try:
        return ZoneInfo.from_file(BytesIO(_of_package(f"zoneinfo/{name}")), key=name)
    except (OSError, ValueError):
        raise ValueError(_no_zone(name)) from None


def _no_zone(name: str) -> str:
    """What a refusal says, with the name that was meant where only its letters' case or a blank is wrong."""
    meant = _names().get(name[: 2 * NAME_CHARS_MAX].strip().replace(" ", "_").lower())
    return "is not the name of a time zone" + ("" if meant is None else f" (did you mean {meant}?)")


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Every name that the package has, by its small letters."""
    names = _of_package("zones").decode("ascii").split()
    return {name.lower(): name for name in names}


@lru_cache(maxsize=1)
def tzdata_version() -> str:
    """The IANA release that every tick is computed from, such as 2026f."""
    first_line = _of_package("zoneinfo/tzdata.zi").partition(b"\n")[0]
    return first_line.decode("ascii").removeprefix("# version ").strip()


def _of_package(path: str) -> bytes:
    """A file of the package, by the plainest way: importlib.resources would bring 20 modules to every cold start."""
    data = get_data("tzdata", path)
    assert data is not None, "packages on disk can be read"
    return data


def piece_at(zone: Zone, utc_s: int) -> Piece:
    """The piece that holds an instant; a piece may end where no change is, and the next goes on there."""
    for piece in _pieces(zone, utc_s // _CHUNK_S):
        if utc_s < piece.end:
            return piece
    raise AssertionError("the pieces of a chunk cover it")


@lru_cache(maxsize=4096)
def _pieces(zone: Zone, chunk: int) -> tuple[Piece, ...]:
    name, gap, overlap = zone.split(" ")
    policy = (Gap(gap), Overlap(overlap))
    low, high = chunk * _CHUNK_S, (chunk + 1) * _CHUNK_S
    # A change just outside still shapes the hours inside.
    found = changes(name, low - _MARGIN_S, high + _MARGIN_S)
    if not found:
        return (Piece(low, high, _offset(load_zone(name), low)),)
    borders = [low - _MARGIN_S, *(change.at for change in found), high + _MARGIN_S]
    pieces: list[Piece] = []
    for at, (start, end) in enumerate(pairwise(borders)):
        around = (found[at - 1] if at else None, found[at] if at < len(found) else None)
        pieces += _cut((start, end), around, policy)
    return tuple(_clipped(piece, low, high) for piece in pieces if piece.start < high and low < piece.end)


def _cut(
    span: tuple[int, int], around: tuple[Change | None, Change | None], policy: tuple[Gap, Overlap]
) -> list[Piece]:
    """The pieces between two changes."""
    (start, end), (opening, closing), (gap, overlap) = span, around, policy
    missed = (0, 0)
    live_from, live_until = start, end
    if opening and gap is Gap.SHIFT and 0 < opening.forward < _CLOCK_CHANGE_S_MAX:
        missed = (start + opening.before, start + opening.after)
    if opening and overlap is Overlap.FIRST and 0 < opening.back < _CLOCK_CHANGE_S_MAX:
        live_from = min(end, start + opening.back)
    if closing and overlap is Overlap.SECOND and 0 < closing.back < _CLOCK_CHANGE_S_MAX:
        live_until = max(live_from, end - closing.back)
    offset = _offset_between(opening, closing)
    return [
        Piece(low, high, offset, live, *(missed if low == start else (0, 0)))
        for low, high, live in ((start, live_from, False), (live_from, live_until, True), (live_until, end, False))
        if low < high
    ]


def _offset_between(opening: Change | None, closing: Change | None) -> int:
    if opening is not None:
        return opening.after
    assert closing is not None
    return closing.before


def _clipped(piece: Piece, low: int, high: int) -> Piece:
    if low <= piece.start and piece.end <= high:
        return piece
    missed = (piece.missed_from, piece.missed_until) if low <= piece.start else (0, 0)
    return Piece(max(low, piece.start), min(high, piece.end), piece.offset, piece.wall_clock_live, *missed)


def changes(name: str, low: int, high: int) -> list[Change]:
    """The changes of a zone's offset in a span, in order, found by halving."""
    zone = load_zone(name)
    found = []
    before = _offset(zone, low)
    for start in range(low, high, _STEP_S):
        end = min(start + _STEP_S, high)
        after = _offset(zone, end)
        if after != before:
            found.append(Change(_border(zone, start, end), before, after))
        before = after
    return found


def _border(zone: ZoneInfo, low: int, high: int) -> int:
    """The first second in (low, high] that has the offset of `high`."""
    after = _offset(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == after:
            high = middle
        else:
            low = middle
    return high


def _offset(zone: ZoneInfo, utc_s: int) -> int:
    # Beyond the years that datetime has, the offset stays as it was.
    within = min(max(utc_s, _UTC_FIRST), _UTC_LAST)
    offset = datetime.fromtimestamp(within, zone).utcoffset()
    assert offset is not None
    return offset.days * 86_400 + offset.seconds
