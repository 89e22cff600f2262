"""What a long run must have seen at least once: every state, policy, repair and kind of fault.

A simulation that never comes to a place proves nothing about it. Must not know how often is enough.
"""

from collections import Counter
from collections.abc import Sequence

from tests.sim.plan import Kind
from tickwright.domain.events import EventName
from tickwright.domain.executions import Reason
from tickwright.domain.transitions import State

_NOT_BUILT = frozenset({State.WAITING})  # overlap `queue` and permits are still to come
_NOT_HERE = frozenset(
    {
        EventName.SCHEDULE_DISAGREEMENT,  # the API's, which is not simulated
        EventName.ATTEMPT_BROKE,
        EventName.LOOP_BROKE,
        EventName.TICK_POISONED,  # bugs: each is a violation
        EventName.JOB_AIMED_ANEW,  # zone rules do not change within a minute
    }
)
_REASONS = (
    (State.SKIPPED, Reason.OVERLAP),
    (State.SKIPPED, Reason.MISSED),
    (State.SKIPPED, Reason.PAUSED),
    (State.CANCELLED, Reason.JOB_CANCELLED),
    (State.CANCELLED, Reason.PAUSED),
    (State.CANCELLED, Reason.CANCELLED),
    (State.DEAD, Reason.FATAL),
    (State.DEAD, Reason.FAILED),
    (State.RETRY, Reason.FAILED),
    (State.RETRY, Reason.LEASE_EXPIRED),
    (State.RETRY, Reason.TIMED_OUT),
    (State.RETRY, Reason.RETRY_LATER),
)


def wanted() -> Sequence[str]:
    """All that must be seen."""
    states = [f"state.{state.value}" for state in State if state not in _NOT_BUILT]
    reasons = [f"state.{state.value}.{reason.value}" for state, reason in _REASONS]
    faults = [f"fault.{kind.value}" for kind in Kind]
    events = [f"event.{name.value}" for name in EventName if name not in _NOT_HERE]
    wishes = [f"wish.{name}" for name in ("pause", "resume", "edit", "cancel", "run_now", "stop_one", "repeat")]
    return [*states, *reasons, *faults, *events, *wishes, "crash", "fault.clock_step", "queue.lost"]


def missing(seen: Counter[str]) -> list[str]:
    """What was never seen."""
    return [name for name in wanted() if not any(key == name or key.startswith(f"{name}.") for key in seen)]
