"""Draws lines as SVG text: no package is needed for a plot that a browser and GitHub show.

Must not know what is drawn.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 200, 40, 50
_COLOURS = ("#1b6ca8", "#c8452d", "#3c8d40", "#8a5fb0", "#b8860b")
_STEPS = 5
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Named lines over two axes; `logarithmic` is of both, for what grows by factors."""

    title: str
    across: str
    up: str
    lines: dict[str, Sequence[Point]]
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    logarithmic: bool

    @staticmethod
    def over(values: Sequence[float], *, logarithmic: bool) -> "_Axis":
        if logarithmic:
            shown = [value for value in values if value > 0] or [1.0]
            return _Axis(
                10 ** math.floor(math.log10(min(shown))), 10 ** math.ceil(math.log10(max(shown))), logarithmic=True
            )
        return _Axis(min([0.0, *values]), max([1.0, *values]), logarithmic=False)

    def part(self, value: float) -> float:
        """How far along a value lies, from 0 to 1."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        span = math.log10(self.high / self.low) or 1.0
        return math.log10(max(value, self.low) / self.low) / span

    def marks(self) -> Iterator[float]:
        if self.logarithmic:
            yield from (self.low * 10**power for power in range(round(math.log10(self.high / self.low)) + 1))
        else:
            yield from (self.low + (self.high - self.low) * step / _STEPS for step in range(_STEPS + 1))


def drawn(charts: Sequence[Chart]) -> str:
    """All of them, one below the other."""
    height = _HEIGHT * len(charts)
    size = f'width="{_WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    parts = [head, f'<rect {size} fill="white"/>']
    for number, chart in enumerate(charts):
        parts += [f'<g transform="translate(0 {number * _HEIGHT})">', *_chart(chart), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _chart(chart: Chart) -> Iterator[str]:
    points = [point for line in chart.lines.values() for point in line]
    across = _Axis.over([x for x, _ in points], logarithmic=chart.logarithmic)
    up = _Axis.over([y for _, y in points], logarithmic=chart.logarithmic)
    yield f'<text x="{_LEFT}" y="22" font-size="15">{escape(chart.title)}</text>'
    yield from _marks(across, up)
    yield f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}">{escape(chart.across)}</text>'
    yield f'<text transform="translate(14 {_HEIGHT - _BOTTOM}) rotate(-90)">{escape(chart.up)}</text>'
    for number, (name, line) in enumerate(chart.lines.items()):
        yield from _line(number, name, [_place(across.part(x), up.part(y)) for x, y in line])


def _marks(across: _Axis, up: _Axis) -> Iterator[str]:
    for mark in up.marks():
        left, y = _place(0, up.part(mark))
        yield f'<path d="M{left} {y}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{mark:,.6g}</text>'
    for mark in across.marks():
        x, foot = _place(across.part(mark), 0)
        yield f'<path d="M{x} {foot}v5" stroke="#888"/>'
        yield f'<text x="{x}" y="{foot + 18}" text-anchor="middle">{mark:,.6g}</text>'


def _line(number: int, name: str, places: Sequence[Point]) -> Iterator[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    for (x, y), (to_x, to_y) in pairwise(places):
        yield f'<path d="M{x} {y}L{to_x} {to_y}" stroke="{colour}" stroke-width="2"/>'
    for x, y in places if len(places) <= 12 else ():
        yield f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'
    y = _TOP + 18 * number + 8
    yield f'<rect x="{_WIDTH - _RIGHT + 12}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
    yield f'<text x="{_WIDTH - _RIGHT + 28}" y="{y}">{escape(name)}</text>'


def _place(across: float, up: float) -> Point:
    x = _LEFT + across * (_WIDTH - _LEFT - _RIGHT)
    y = _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)
    return round(x, 1), round(y, 1)
