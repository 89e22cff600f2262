"""What a scenario hands back: its figures, what was expected of them, and a chart.

Must not know a scenario.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.scenarios.chart import Chart

Figures = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`expected`: each claim, and whether it held."""

    name: str
    figures: Figures
    expected: Mapping[str, bool]
    charts: Sequence[Chart]

    @property
    def failed(self) -> list[str]:
        """The claims that did not hold."""
        return [claim for claim, held in self.expected.items() if not held]


def at_percent(values: Sequence[float], percent: int) -> float:
    """The value that so many percent do not exceed; 0 of nothing."""
    if len(values) < 2:
        return max(values, default=0.0)
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 1)


def spread_ms(values: Sequence[float]) -> dict[str, float]:
    """Middle, tail and end."""
    middle, tail = at_percent(values, 50), at_percent(values, 99)
    return {"n": len(values), "p50Ms": middle, "p99Ms": tail, "maxMs": max(values, default=0)}
