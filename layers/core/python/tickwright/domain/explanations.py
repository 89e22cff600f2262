"""Where an execution is, in words: what it waits for, since when, when it should start, and what comes if nothing does.

Must not know a store, nor what is secret: it is given what may be shown. Promise: SEM-REASON-1.
"""

from dataclasses import dataclass

from tickwright.domain.executions import Execution, Reason
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.reasons import was_drained, why
from tickwright.domain.transitions import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What an execution waits for, since when, and when it should start."""

    waits_for: str
    since: Instant
    starts_at: Instant | None


def explain(execution: Execution, now: Instant, *, lease_ms: int) -> Explanation:
    """In words, from the execution alone; `lease_ms`: how long a worker's own lease is."""
    reason = why(execution)
    match execution.state:
        case State.QUEUED if execution.scheduled_at > now:
            return Explanation(waits_for="its time", since=execution.created_at, starts_at=execution.scheduled_at)
        case State.QUEUED | State.WAITING:
            due = execution.redriven_at or execution.scheduled_at
            first = "" if execution.generation == 1 else f", for attempt {_attempt(execution, ahead=1)}"
            words = f"a worker of the pool {execution.pool}{first}"
            return Explanation(waits_for=words, since=due, starts_at=max(now, due))
        case State.RETRY:
            words = f"{_pause(execution)}attempt {_attempt(execution, ahead=1)}{reason}"
            return Explanation(waits_for=words, since=execution.created_at, starts_at=execution.retry_at)
        case State.RUNNING | State.CANCELLING:
            words = f"{_held(execution, now, lease_ms)}{reason}"
            return Explanation(waits_for=words, since=execution.started_at or now, starts_at=execution.started_at)
        case _:
            words = f"nothing: it is {execution.state.value}{reason}"
            since = execution.finished_at or execution.created_at
            return Explanation(waits_for=words, since=since, starts_at=execution.started_at)


def _attempt(execution: Execution, *, ahead: int = 0) -> str:
    """Which attempt of how many: after a redrive those of its generation, for it has its attempts anew."""
    number, most = execution.of_generation
    after = "" if execution.generation == 1 else f" of generation {execution.generation}"
    return f"{number + ahead} of {most}{after}"


def _pause(execution: Execution) -> str:
    assert execution.retry_at is not None
    at = to_rfc3339(execution.retry_at)
    if execution.reason is Reason.GIVEN_BACK or was_drained(execution):
        return f"another worker from {at} on, for "
    asked = execution.reason is Reason.RETRY_LATER
    return f"the time that it asked for, {at}, then " if asked else f"the end of its backoff at {at}, then "


def _held(execution: Execution, now: Instant, lease_ms: int) -> str:
    """Who has it, and what comes when nothing is heard; longer than a worker's lease it is held by whoever took it."""
    assert execution.lease_until is not None
    until, attempt = execution.lease_until, f"attempt {_attempt(execution)}"
    if execution.state is State.CANCELLING:
        return f"{attempt} on {execution.lease_owner} to stop, until {to_rfc3339(until)} at the latest"
    if until - now > lease_ms:
        ended = f"the end of {attempt} by POST /complete or /fail, until its time is over at {to_rfc3339(until)}"
        return f"{ended}: {execution.lease_owner} has handed it over"
    if until >= _deadline(execution):
        return f"{attempt} on {execution.lease_owner}, until its time is over at {to_rfc3339(until)}"
    lease = f"lease until {to_rfc3339(until)}"
    after = "over, it is about to be taken over" if until < now else "taken over after that if nothing is heard"
    return f"{attempt} on {execution.lease_owner} ({lease}; {after})"


def _deadline(execution: Execution) -> Instant:
    """When its attempt's time or the run's is over."""
    ends = [at for at in (execution.deadline_at, execution.run_deadline_at) if at is not None]
    assert execution.lease_until is not None
    return min(ends, default=Instant(execution.lease_until + 1))
