"""How an attempt ended, as user code says it, and what that makes of its execution.

Must not know a target. The result of user code is a closed set; anything else is a Failure that lists what was
expected. Promises: SEM-RETRY-1, SEM-RETRY-3, SEM-RETRY-4, SEM-HANDOVER-1.
"""

import hashlib
from dataclasses import dataclass
from typing import assert_never

from tickwright.domain import limits
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.executions import ErrorSummary, Execution, Noted, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.retry import RetryPolicy
from tickwright.domain.transitions import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """It is done; `result` is JSON text, 32 KB at most."""

    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """It failed and may be tried again.

    `reason` FAILED, or TIMED_OUT; `after_s` is what a server asked to wait at least.
    """

    error: ErrorSummary
    reason: Reason = Reason.FAILED
    after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fatal:
    """It failed and trying again is of no use."""

    error: ErrorSummary
    reason: Reason = Reason.FATAL


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLater:
    """It asks to be tried again after a while, and may say why; no attempt is counted."""

    after_s: float
    error: ErrorSummary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """The platform did not run it (throttled, draining): the claim is given back, no attempt is counted."""

    after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """Somebody else goes on with it, and will report by its id and epoch: it runs until then, or until its deadline."""


UserResult = Success | Failure | Fatal | RetryLater | NotRun | HandedOver


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try again at an instant."""

    at: Instant
    reason: Reason
    error: ErrorSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """End it as DEAD."""

    reason: Reason
    error: ErrorSummary


def after_failure(
    failed: Failure | Fatal, execution: Execution, policy: RetryPolicy, *, now: Instant, fraction: float
) -> Retry | GiveUp:
    """What becomes of an execution whose current attempt failed: a retry after a backoff with jitter, or the end."""
    error = failed.error.bounded()
    match failed:
        case Fatal():
            return GiveUp(reason=failed.reason, error=error)
        case Failure():
            may = policy.may_retry(error.error_class, attempt=execution.attempt, attempts_max=execution.max_attempts)
            if not may:
                return GiveUp(reason=failed.reason, error=error)
            backoff_ms = policy.backoff_ms(attempt=execution.of_generation[0], fraction=fraction)
            return _retry(failed, error, execution, Instant(now + backoff_ms), now)
        case _:
            assert_never(failed)


def _retry(failed: Failure, error: ErrorSummary, execution: Execution, due: Instant, now: Instant) -> Retry | GiveUp:
    asked_ms = round(min(failed.after_s or 0.0, limits.RETRY_AFTER_S_MAX) * 1_000)
    at = Instant(max(due, now + asked_ms))
    if execution.run_deadline_at is not None and at >= execution.run_deadline_at:
        return GiveUp(reason=Reason.EXPIRED, error=error)
    return Retry(at=at, reason=failed.reason, error=error)


def later_by(after_s: float, now: Instant) -> Instant:
    """So much later, within bounds."""
    return Instant(now + round(max(0.0, min(after_s, limits.RETRY_AFTER_S_MAX)) * 1_000))


def after_giving_back(given: NotRun, execution: Execution, *, now: Instant, era: Era = FIRST_ERA) -> Instant:
    """When an execution that was given back is tried again: after the wait that was named, if it is a second at least.

    Else at once the first time, then after a pause that grows. Each claim raised the epoch, and only one that was
    given back or asked for more time left no attempt behind; what came before this era counts for less, never for more.
    """
    before = max(0, execution.lease_epoch - era.base - execution.attempt - execution.retry_afters)
    if before == 0 or given.after_s >= 1:
        return later_by(given.after_s, now)
    return later_by(min(2 ** min(before - 1, 10), limits.GIVEN_BACK_S_MAX), now)


def after_request(asked: RetryLater, execution: Execution, *, now: Instant) -> Instant | Failure | Fatal:
    """When an execution that asked to be tried later is tried again; or what it is instead, too often or too late."""
    if execution.retry_afters >= limits.RETRY_AFTER_MAX:
        last = "" if asked.error is None else f" The last time it said: {asked.error.message}"
        said = f"It asked to be retried later over {limits.RETRY_AFTER_MAX} times.{last}"
        return Failure(error=an_error("RetryLaterTooOften", said))
    at = later_by(asked.after_s, now)
    if execution.run_deadline_at is not None and at >= execution.run_deadline_at:
        said = "It asked to be retried later than the run's deadline."
        return Fatal(error=an_error("RunDeadline", said), reason=Reason.EXPIRED)
    return at


def shows(execution: Execution, result: UserResult) -> bool:
    """Whether an execution shows that this very result was reported at its epoch: the same report may come twice."""
    match result:
        case Success():
            return execution.state is State.SUCCEEDED
        case Failure() | Fatal():
            ended = execution.state in {State.RETRY, State.DEAD} and execution.reason in {result.reason, Reason.EXPIRED}
            return ended and execution.error == result.error.bounded()
        case RetryLater():
            return execution.state is State.RETRY and execution.reason is Reason.RETRY_LATER
        case NotRun():
            return execution.state is State.RETRY and execution.reason is Reason.GIVEN_BACK
        case HandedOver():
            return False  # it ends nothing that could be shown
        case _:
            assert_never(result)


def fingerprint(error_class: str, message: str) -> str:
    """A short hash to group errors by: digits are left out, since ids and times differ where the fault is the same."""
    shape = "".join("0" if c.isdigit() else c for c in message[: limits.ERROR_MESSAGE_CHARS_MAX])
    return hashlib.sha256(f"{error_class}\n{shape}".encode("utf-8", "replace")).hexdigest()[:16]


def an_error(error_class: str, message: str, trace: str = "") -> ErrorSummary:
    """An error summary with its fingerprint, within bounds."""
    return ErrorSummary(
        error_class=error_class, message=message, trace=trace, fingerprint=fingerprint(error_class, message)
    ).bounded()


def a_note(progress: float | None = None, checkpoint: str | None = None) -> Noted:
    """What a holder notes: its progress held between 0 and 1, to a hundredth of a percent."""
    return Noted(
        progress=None if progress is None else round(min(max(float(progress), 0.0), 1.0), 4), checkpoint=checkpoint
    )
