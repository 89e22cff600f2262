"""What a long run must have seen at least once: every state, policy, repair and kind of fault.

A simulation that never comes to a place proves nothing about it. Must not know how often is enough.
"""

from collections import Counter
from collections.abc import Sequence

from tests.chaos.jobs import Wish
from tests.sim.kinds import TENANTS
from tests.sim.plan import Kind
from tickwright.domain.events import EventName
from tickwright.domain.executions import Reason
from tickwright.domain.job_rules import LANES_FOR_TENANTS
from tickwright.domain.jobs import CatchUpMode, JobSpec, Overlap
from tickwright.domain.transitions import State

_NOT_BUILT = frozenset({State.WAITING})  # overlap `queue` and permits are still to come
_NOT_HERE = frozenset(
    {
        EventName.SCHEDULE_DISAGREEMENT,  # the API's, which is not simulated
        EventName.ATTEMPT_BROKE,
        EventName.LOOP_BROKE,
        EventName.TICK_POISONED,  # bugs: each is a violation
        EventName.BASE_LOWERED,  # settings do not change
        EventName.JOB_AIMED_ANEW,  # zone rules do not change within a minute
        EventName.LOG_NOT_KEPT,  # runs say nothing here
        EventName.EXECUTION_LEFT,  # no run here is a thread that hears nothing
        EventName.PLACES_COUNTED,
        EventName.BUCKETS_COUNTED,  # for who watches a scheduler from outside
        EventName.TICK_WAITS,  # so is the look for ticks that nobody decides: tests/services/test_undecided.py
        EventName.PROTECTION_REFUSED,  # the fleet's, which is not simulated
        # Of the API beside a store that is silent: tests/outages and the scenario `outage`.
        EventName.SUBMISSION_ACCEPTED,
        EventName.SUBMISSION_LANDED,
        EventName.SUBMISSION_WAITS,
        EventName.SUBMISSION_REFUSED,
        EventName.COPY_SHOWN,
        EventName.CACHE_FAULT,
    }
)
_REASONS = (
    (State.SKIPPED, Reason.OVERLAP),
    (State.SKIPPED, Reason.MISSED),
    (State.SKIPPED, Reason.PAUSED),
    (State.SKIPPED, Reason.BLACKOUT),
    (State.CANCELLED, Reason.JOB_CANCELLED),
    (State.CANCELLED, Reason.PAUSED),
    (State.CANCELLED, Reason.CANCELLED),
    (State.CANCELLED, Reason.ABANDONED),
    (State.CANCELLING, Reason.JOB_CANCELLED),
    (State.CANCELLING, Reason.CANCELLED),
    (State.DEAD, Reason.FATAL),
    (State.DEAD, Reason.FAILED),
    (State.DEAD, Reason.EXPIRED),
    (State.RETRY, Reason.FAILED),
    (State.RETRY, Reason.LEASE_EXPIRED),
    (State.RETRY, Reason.TIMED_OUT),
    (State.RETRY, Reason.RETRY_LATER),
    (State.RETRY, Reason.GIVEN_BACK),
)
_NO_ANSWER_OF_ITS_OWN = frozenset({Wish.NAME_TWICE})  # it is refused, or the name is free again
_MORE_WISHES = ("edit_waits", "run_now_paused", "run_now_twice", "name_again", "askedAgain")
_REFUSALS = (
    "name_twice.name_taken",
    "edit.edit_waits",
    "edit.job_over",
    "edit.version_conflict",
    "pause.job_over",
    "resume.job_over",
    "run_now.overlap",
    "run_now.job_over",
    "run_now.version_conflict",
    "redrive.overlap",
    "redrive.job_over",
    "cancel_order.order_over",
)
_POLICIES = (
    *(f"overlap.{overlap.value}" for overlap in Overlap),
    *(f"catchup.{mode.value}" for mode in CatchUpMode),
    *("catchup.onResume", "catchup.maxRuns", "catchup.ratePerMin", "runDeadlineSec"),
    *("schedule.window", "schedule.calendars", "schedule.maxRuns", "schedule.startAt", "schedule.cron"),
    *("schedule.every", "schedule.runAt"),
)


def wanted() -> Sequence[str]:
    """All that must be seen."""
    states = [f"state.{state.value}" for state in State if state not in _NOT_BUILT]
    reasons = [f"state.{state.value}.{reason.value}" for state, reason in _REASONS]
    faults = [f"fault.{kind.value}" for kind in Kind]
    events = [f"event.{name.value}" for name in EventName if name not in _NOT_HERE]
    wishes = [f"wish.{wish.value}" for wish in Wish if wish not in _NO_ANSWER_OF_ITS_OWN]
    wishes += [f"wish.{name}" for name in (*_MORE_WISHES, *(f"refused.{refusal}" for refusal in _REFUSALS))]
    whose = [*(f"lane.{lane.value}" for lane in LANES_FOR_TENANTS), *(f"tenant.{tenant}" for tenant in TENANTS)]
    policies = [f"policy.{name}" for name in _POLICIES]
    return [*states, *reasons, *faults, *events, *wishes, *whose, *policies, "crash", "queue.lost", "fault.clock_step"]


def policies_of(spec: JobSpec) -> Sequence[str]:
    """What a job's definition asks for, by the names of the API."""
    catch_up = spec.catch_up
    chosen = {
        f"overlap.{spec.overlap.value}": True,
        f"catchup.{catch_up.mode.value}": True,
        "catchup.onResume": catch_up.on_resume,
        "catchup.maxRuns": catch_up.max_runs is not None,
        "catchup.ratePerMin": catch_up.rate_per_min is not None,
        "runDeadlineSec": spec.run_deadline_s is not None,
        **{f"schedule.{name}": True for name in spec.source},
    }
    return [f"policy.{name}" for name, is_so in chosen.items() if is_so]


def missing(seen: Counter[str]) -> list[str]:
    """What was never seen."""
    return [name for name in wanted() if not any(key == name or key.startswith(f"{name}.") for key in seen)]
