"""Makes a plan that shows a violation smaller, as long as it still shows one of the same name.

Jobs first, then the world's ill will, faults by halves, single errands, and at last how long each thing lasts; draws
are counted, so what is left happens as before.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tests.chaos.jobs import Plan as JobPlan
from tests.sim.plan import Plan, filled, jobs_of

ItemT = TypeVar("ItemT")
Shows = Callable[[Plan], bool]
Idea = Callable[[Plan], Plan]
_SHORT_MS = 20  # of what is shorter nobody learns more


def shrunk(plan: Plan, shows: Shows, *, tries: int = 200) -> Plan:
    """The smallest plan that was found."""
    left = [tries]

    def still(other: Plan) -> bool:
        left[0] -= 1
        return left[0] >= 0 and shows(other)

    plan = replace(plan, jobs=_fewer(plan.jobs, lambda some: still(replace(plan, jobs=some))))
    plan = _each(plan, _CALMER, still)
    plan = replace(plan, faults=_fewer(plan.faults, lambda some: still(replace(plan, faults=some))))
    plan = replace(plan, outages=_fewer(plan.outages, lambda some: still(replace(plan, outages=some))))
    plan = replace(plan, steps=_fewer(plan.steps, lambda some: still(replace(plan, steps=some))))
    plan = _idler(plan, still)
    return _each(plan, _shorter(plan), still)


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


def _each(plan: Plan, ideas: Sequence[Idea], shows: Shows) -> Plan:
    """Follow each idea for as long as it changes the plan and what is left still shows it."""
    for idea in ideas:
        while (other := idea(plan)) != plan and shows(other):
            plan = other
    return plan


_CALMER: Sequence[Idea] = (
    lambda plan: replace(plan, schedulers=max(1, plan.schedulers - 1)),
    lambda plan: replace(plan, workers=max(1, plan.workers - 1)),
    lambda plan: replace(plan, loss=0.0),
    lambda plan: replace(plan, double=0.0),
    lambda plan: replace(plan, late=0.0),
    lambda plan: replace(plan, lag_ms=0),
    lambda plan: replace(plan, skew_ms=0),
    lambda plan: replace(plan, latency_ms=min(2, plan.latency_ms)),
    lambda plan: replace(plan, pounces=False),
)


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


def _shorter(plan: Plan) -> Sequence[Idea]:
    """With one lag or one duration halved."""
    faults = (partial(_shorter_fault, number) for number in range(len(plan.faults)))
    outages = (partial(_shorter_outage, number) for number in range(len(plan.outages)))
    steps = (partial(_shorter_step, number) for number in range(len(plan.steps)))
    return (lambda plan: replace(plan, lag_ms=_half(plan.lag_ms)), *faults, *outages, *steps)


def _shorter_fault(number: int, plan: Plan) -> Plan:
    fault = plan.faults[number]
    return replace(plan, faults=_put(plan.faults, number, replace(fault, ms=_half(fault.ms))))


def _shorter_outage(number: int, plan: Plan) -> Plan:
    outage = plan.outages[number]
    return replace(plan, outages=_put(plan.outages, number, replace(outage, ms=_half(outage.ms))))


def _shorter_step(number: int, plan: Plan) -> Plan:
    step = plan.steps[number]
    return replace(plan, steps=_put(plan.steps, number, replace(step, by_ms=_half(step.by_ms))))


def _half(ms: int) -> int:
    return ms if abs(ms) <= _SHORT_MS else int(ms / 2)


def _put(items: Sequence[ItemT], number: int, item: ItemT) -> tuple[ItemT, ...]:
    return (*items[:number], item, *items[number + 1 :])
