"""What others ask for the same number of executions, and what they do for it.

Pure. Only what schedules and dispatches is counted: the work itself costs the same everywhere.
"""

from dataclasses import dataclass

from tools.cost.load import Load
from tools.cost.prices import Item, of

# Start, the task, the end: what a state machine of one step is charged for.
_TRANSITIONS = 3
# The least memory that an express execution is charged for.
_EXPRESS_GB = 0.064
# A schedule that starts a workflow of one activity: the workflow, and the activity.
_ACTIONS = 3


@dataclass(frozen=True, slots=True)
class Rival:
    """A service, what it asks a month, and what one gets."""

    name: str
    how: str
    dollars: float
    without: str


def rivals(load: Load) -> tuple[Rival, ...]:
    """For the same load."""
    month = load.a_month
    express = of(Item.EXPRESS) + of(Item.EXPRESS_GB_S) * _EXPRESS_GB * load.run_s
    return (
        Rival(
            "EventBridge Scheduler",
            "an invocation each",
            month * of(Item.SCHEDULED),
            "60 s precision, no history, no fences, no tenants; 1,000 invocations a second until raised",
        ),
        Rival(
            "Step Functions Standard",
            f"{_TRANSITIONS} transitions each",
            month * _TRANSITIONS * of(Item.TRANSITION),
            "starts nothing by itself: a scheduler comes on top",
        ),
        Rival(
            "Step Functions Express",
            f"a request and {load.run_s:g} s at 64 MB each",
            month * express,
            "starts nothing by itself; five minutes at most; the first price step, lower past it",
        ),
        Rival(
            "Temporal Cloud",
            f"{_ACTIONS} actions each, at the last published step",
            month * _ACTIONS * of(Item.ACTION),
            "buys workflows; above 200 M actions by agreement",
        ),
        Rival(
            "Temporal Cloud, floor of before 2025",
            f"{_ACTIONS} actions each",
            month * _ACTIONS * of(Item.ACTION_FLOOR),
            "a price that is no longer published",
        ),
    )
