"""The moves of executions by those who report no result, as requests. No rule is decided here."""

from tickwright.adapters.dynamodb import wire
from tickwright.adapters.dynamodb.expressions import moves as expressions
from tickwright.adapters.dynamodb.items import executions as items
from tickwright.adapters.dynamodb.requests.executions import end_values, lease_over, of_execution, retry_values
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain import limits
from tickwright.domain.changes.moves import Cancel, Discard, Expire, PutOff, ReapStopping, Redrive, Release, Stop
from tickwright.domain.executions import Discarded
from tickwright.domain.transitions import State


def stop(change: Stop) -> Request:
    """The holder has stopped."""
    write = expressions.STOP_OWING if change.owed else expressions.STOP
    values = {"epoch": wire.number(change.epoch)} | end_values(change.now, change.owed, change.ttl)
    return of_execution(change.ref, write, values)


def reap_stopping(change: ReapStopping) -> Request:
    """Somebody ends a run that was to stop and whose lease is over."""
    write = expressions.REAP_STOPPING_OWING if change.owed else expressions.REAP_STOPPING
    seen = {
        "seenEpoch": wire.number(change.seen_epoch),
        "seenLeaseUntil": wire.number(change.seen_lease_until),
        "leaseOver": lease_over(change.now, change.clock_error_ms),
    }
    return of_execution(change.ref, write, seen | end_values(change.now, change.owed, change.ttl))


# By whether user code asked for it, whether it says why, and whether it waits on the index.
_PUT_OFF = {
    (False, False, False): expressions.GIVE_BACK,
    (False, False, True): expressions.GIVE_BACK_WAITING,
    (True, False, False): expressions.RETRY_LATER,
    (True, False, True): expressions.RETRY_LATER_WAITING,
    (True, True, False): expressions.RETRY_LATER_SAYING,
    (True, True, True): expressions.RETRY_LATER_WAITING_SAYING,
}


def put_off(change: PutOff) -> Request:
    """Give a claim back, or be tried later."""
    values = {
        "epoch": wire.number(change.epoch),
        "reason": wire.text(change.reason.value),
        "asked": wire.number(int(change.asked)),
    } | retry_values(change.retry_at, change.wait_key)
    if change.asked:
        values["retryAftersMax"] = wire.number(limits.RETRY_AFTER_MAX)
    if change.error is not None:
        values["error"] = items.error_value(change.error)
    write = _PUT_OFF[change.asked, change.error is not None, change.wait_key is not None]
    return of_execution(change.ref, write, values)


def cancel(change: Cancel) -> Request:
    """Cancel at once, or ask to stop, by the state that was seen."""
    reason: Item = {"reason": wire.text(change.reason.value), "seenEpoch": wire.number(change.seen_epoch)}
    if change.target is State.CANCELLING:
        return of_execution(change.ref, expressions.CANCEL_RUNNING, reason)
    write = expressions.CANCEL_OWING if change.owed else expressions.CANCEL
    seen = {"seenState": wire.text(change.seen_state.value)}
    return of_execution(change.ref, write, reason | seen | end_values(change.now, change.owed, change.ttl))


def release(change: Release) -> Request:
    """Take a retry off the waiting index."""
    values = {"seenEpoch": wire.number(change.seen_epoch), "seenWaitKey": wire.text(change.seen_wait_key)}
    return of_execution(change.ref, expressions.RELEASE, values)


def expire(change: Expire) -> Request:
    """End what has not started in time."""
    write = expressions.EXPIRE_OWING if change.owed else expressions.EXPIRE
    values = {
        "seenState": wire.text(change.seen_state.value),
        "seenEpoch": wire.number(change.seen_epoch),
        "reason": wire.text(change.reason.value),
    }
    return of_execution(change.ref, write, values | end_values(change.now, change.owed, change.ttl))


def redrive(change: Redrive) -> Request:
    """Open what is dead again."""
    values = {
        "seenEpoch": wire.number(change.seen_epoch),
        "now": wire.number(change.now),
        "attempts": wire.number(change.attempts),
        "none": wire.number(0),
        "runDeadlineAt": wire.number(change.run_deadline_at),
    }
    return of_execution(change.ref, expressions.REDRIVE, values)


def discard(change: Discard) -> Request:
    """Take what is dead off the list."""
    values = {
        "seenEpoch": wire.number(change.seen_epoch),
        "discarded": items.discarded_value(Discarded(at=change.now, reason=change.reason)),
    }
    return of_execution(change.ref, expressions.DISCARD, values)
