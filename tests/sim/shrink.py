"""Makes a plan that shows a violation smaller, as long as it still shows one of the same name.

Jobs first, then faults by halves, then the world's ill will; draws are counted, so what is left happens as before.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tests.sim.plan import Plan

ItemT = TypeVar("ItemT")
Shows = Callable[[Plan], bool]


def shrunk(plan: Plan, shows: Shows, *, tries: int = 200) -> Plan:
    """The smallest plan that was found."""
    left = [tries]

    def still(other: Plan) -> bool:
        left[0] -= 1
        return left[0] >= 0 and shows(other)

    plan = replace(plan, jobs=_fewer(plan.jobs, lambda some: still(replace(plan, jobs=some))))
    plan = replace(plan, faults=_fewer(plan.faults, lambda some: still(replace(plan, faults=some))))
    plan = replace(plan, outages=_fewer(plan.outages, lambda some: still(replace(plan, outages=some))))
    calmer: Sequence[dict[str, Any]] = (
        {"loss": 0.0},
        {"double": 0.0},
        {"late": 0.0},
        {"lag_ms": 0},
        {"skew_ms": 0},
        {"latency_ms": 2},
        {"schedulers": 1},
        {"workers": 1},
    )
    for less in calmer:
        other = replace(plan, **less)
        plan = other if other != plan and still(other) else plan
    return plan


def _fewer(items: tuple[ItemT, ...], shows: Callable[[tuple[ItemT, ...]], bool]) -> tuple[ItemT, ...]:
    """Delta debugging: leave out halves, then quarters, down to single ones."""
    size = max(1, len(items) // 2)
    while items and size:
        start = 0
        while start < len(items):
            some = items[:start] + items[start + size :]
            if shows(some):
                items = some
            else:
                start += size
        size //= 2
    return items
