"""Makes a plan that shows a violation smaller, as long as it still shows one of the same name.

Jobs first, then the world's ill will, faults by halves, single errands, and at last how long each thing lasts; draws
are counted, so what is left happens as before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.chaos.jobs import Plan as JobPlan
from tests.sim.plan import Plan, filled, jobs_of

ItemT = TypeVar("ItemT")
Shows = Callable[[Plan], bool]
_SHORT_MS = 20  # of what is shorter nobody learns more


def shrunk(plan: Plan, shows: Shows, *, tries: int = 200) -> Plan:
    """The smallest plan that was found."""
    left = [tries]

    def still(other: Plan) -> bool:
        left[0] -= 1
        return left[0] >= 0 and shows(other)

    plan = replace(plan, jobs=_fewer(plan.jobs, lambda some: still(replace(plan, jobs=some))))
    plan = _first(plan, _calmer, still)
    plan = replace(plan, faults=_fewer(plan.faults, lambda some: still(replace(plan, faults=some))))
    plan = replace(plan, outages=_fewer(plan.outages, lambda some: still(replace(plan, outages=some))))
    plan = replace(plan, steps=_fewer(plan.steps, lambda some: still(replace(plan, steps=some))))
    plan = _idler(plan, still)
    return _first(plan, _shorter, still)


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


def _first(plan: Plan, ideas: Callable[[Plan], Iterator[Plan]], shows: Shows) -> Plan:
    """Take each idea that still shows it, and begin again with those of the plan that it makes; until none does."""
    refused: list[Plan] = []
    while (other := next((one for one in ideas(plan) if one != plan and one not in refused), None)) is not None:
        if shows(other):
            plan = other
        else:
            refused.append(other)
    return plan


def _calmer(plan: Plan) -> Iterator[Plan]:
    """Without one kind of ill will, or with a process less."""
    yield replace(plan, loss=0.0)
    yield replace(plan, double=0.0)
    yield replace(plan, late=0.0)
    yield replace(plan, lag_ms=0)
    yield replace(plan, skew_ms=0)
    yield replace(plan, latency_ms=min(2, plan.latency_ms))
    yield replace(plan, pounces=False)
    yield replace(plan, schedulers=max(1, plan.schedulers - 1))
    yield replace(plan, workers=max(1, plan.workers - 1))


def _idler(plan: Plan, shows: Shows) -> Plan:
    """With fewer errands: from here on the jobs stand in the plan in full."""
    if not any(job.errands for job in jobs_of(plan)):
        return plan
    plan = filled(plan)
    for number, job in enumerate(jobs_of(plan)):
        plan = _with(plan, number, _less_to_do(plan, number, job, shows))
    return plan


def _less_to_do(plan: Plan, number: int, job: JobPlan, shows: Shows) -> JobPlan:
    errands = _fewer(job.errands, lambda some: shows(_with(plan, number, replace(job, errands=some))))
    return replace(job, errands=errands)


def _with(plan: Plan, number: int, job: JobPlan) -> Plan:
    return replace(plan, jobs=_put(plan.jobs, number, job))


def _shorter(plan: Plan) -> Iterator[Plan]:
    """With one lag or one duration halved."""
    if plan.lag_ms > _SHORT_MS:
        yield replace(plan, lag_ms=plan.lag_ms // 2)
    for number, fault in enumerate(plan.faults):
        if fault.ms > _SHORT_MS:
            yield replace(plan, faults=_put(plan.faults, number, replace(fault, ms=fault.ms // 2)))
    for number, outage in enumerate(plan.outages):
        if outage.ms > _SHORT_MS:
            yield replace(plan, outages=_put(plan.outages, number, replace(outage, ms=outage.ms // 2)))
    for number, step in enumerate(plan.steps):
        if abs(step.by_ms) > _SHORT_MS:
            yield replace(plan, steps=_put(plan.steps, number, replace(step, by_ms=int(step.by_ms / 2))))


def _put(items: Sequence[ItemT], number: int, item: ItemT) -> tuple[ItemT, ...]:
    return (*items[:number], item, *items[number + 1 :])
