"""The changes of executions as requests. No rule is decided here: which values exist says which literal fits."""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.expressions import executions as expressions
from tickwright.adapters.dynamodb.expressions.write import Write
from tickwright.adapters.dynamodb.items import executions as items
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item, Value
from tickwright.domain.changes.executions import (
    Claim,
    Fail,
    Failing,
    Heartbeat,
    Insert,
    Reap,
    StrikeOwed,
    Succeed,
)
from tickwright.domain.executions import Noted, Owed
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.instants import Instant


def insert(change: Insert) -> Request:
    """I."""
    return Request(
        table=Table.EXECUTIONS,
        key=keys.execution(change.ref),
        write=expressions.INSERT,
        read=items.from_item,
        values={},
        put=items.to_item(change.execution),
    )


def claim(change: Claim) -> Request:
    """A claim, whichever state it finds, by the era that it expects there."""
    values = {
        "worker": wire.text(change.worker),
        "token": wire.text(change.token),
        "now": wire.number(change.now),
        "leaseOver": lease_over(change.now, change.clock_error_ms),
        "leaseUntil": wire.number(change.lease_until),
        "deadlineAt": wire.number(change.deadline_at),
        "base": wire.number(change.era.base),
    }
    if change.is_below:
        raised = {"raised": wire.number(change.era.after(change.era.base))}
        return of_execution(change.ref, expressions.CLAIM_FROM_BELOW, values | raised)
    return of_execution(change.ref, expressions.CLAIM, values | {"highest": wire.number(change.era.highest)})


def heartbeat(change: Heartbeat) -> Request:
    """A heartbeat, by whether it names the lease that it moves, and notes anything, and over what."""
    values = {
        "epoch": wire.number(change.epoch),
        "now": wire.number(change.now),
        "leaseUntil": wire.number(change.lease_until),
    }
    if change.seen_lease_until is None:
        return of_execution(change.ref, expressions.HEARTBEAT, values)
    values["seenLeaseUntil"] = wire.number(change.seen_lease_until)
    noted = None if change.noted is None else change.noted_over(change.seen_noted)
    if noted is None:
        return of_execution(change.ref, expressions.HEARTBEAT_OF_SEEN, values)
    seen, new = items.noted_members(change.seen_noted or Noted()), items.noted_members(noted)
    if not seen:
        return of_execution(
            change.ref, expressions.HEARTBEAT_NOTING_FIRST, values | {"noted": items.noted_value(noted)}
        )
    was = {f"seen{name.capitalize()}": value for name, value in seen.items()}
    return of_execution(change.ref, _NOTING[frozenset(seen), frozenset(new)], values | was | new)


_PROGRESS, _CHECKPOINT, _BOTH = (
    frozenset({"progress"}),
    frozenset({"checkpoint"}),
    frozenset({"progress", "checkpoint"}),
)
# By what was noted and what is: nothing is ever taken away.
_NOTING = {
    (_PROGRESS, _PROGRESS): expressions.HEARTBEAT_NOTING_PROGRESS,
    (_PROGRESS, _BOTH): expressions.HEARTBEAT_NOTING_CHECKPOINT_TOO,
    (_CHECKPOINT, _CHECKPOINT): expressions.HEARTBEAT_NOTING_CHECKPOINT,
    (_CHECKPOINT, _BOTH): expressions.HEARTBEAT_NOTING_PROGRESS_TOO,
    (_BOTH, _BOTH): expressions.HEARTBEAT_NOTING_BOTH,
}
_SUCCEED = {
    (False, False): expressions.SUCCEED,
    (False, True): expressions.SUCCEED_WITH_RESULT,
    (True, False): expressions.SUCCEED_OWING,
    (True, True): expressions.SUCCEED_OWING_WITH_RESULT,
}


def succeed(change: Succeed) -> Request:
    """A good end, by whether anything is owed and whether there is a result."""
    values = {"epoch": wire.number(change.epoch)} | end_values(change.now, change.owed, change.ttl)
    if change.result is not None:
        values["result"] = wire.text(change.result)
    return of_execution(change.ref, _SUCCEED[bool(change.owed), change.result is not None], values)


def fail(change: Fail) -> Request:
    """The holder's failure."""
    failing = change.failing
    write = _FAIL[failing.retry_at is not None, failing.wait_key is not None, bool(failing.owed)]
    return of_execution(change.ref, write, {"epoch": wire.number(change.epoch)} | _failing_values(failing))


def reap(change: Reap) -> Request:
    """A watcher's failure of a lease that is over."""
    failing = change.failing
    write = _REAP[failing.retry_at is not None, failing.wait_key is not None, bool(failing.owed)]
    seen = {
        "seenEpoch": wire.number(change.seen_epoch),
        "seenLeaseUntil": wire.number(change.seen_lease_until),
        "leaseOver": lease_over(failing.now, change.clock_error_ms),
    }
    return of_execution(change.ref, write, seen | _failing_values(failing))


# By whether it is tried again, whether it waits for that on the index, and whether its end owes anything.
_FAIL = {
    (True, False, False): expressions.FAIL_RETRY,
    (True, True, False): expressions.FAIL_RETRY_WAITING,
    (False, False, False): expressions.FAIL_DEAD,
    (False, False, True): expressions.FAIL_DEAD_OWING,
}
_REAP = {
    (True, False, False): expressions.REAP_RETRY,
    (True, True, False): expressions.REAP_RETRY_WAITING,
    (False, False, False): expressions.REAP_DEAD,
    (False, False, True): expressions.REAP_DEAD_OWING,
}


def _failing_values(failing: Failing) -> Item:
    said = {"reason": wire.text(failing.reason.value), "error": items.error_value(failing.error)}
    if failing.retry_at is None:
        return said | end_values(failing.now, failing.owed, failing.ttl)
    return said | retry_values(failing.retry_at, failing.wait_key)


def strike_owed(change: StrikeOwed) -> Request:
    """Settle's last write."""
    values = {"seenEpoch": wire.number(change.seen_epoch), "ttl": wire.number(change.ttl)}
    return of_execution(change.ref, expressions.STRIKE_OWED, values)


def end_values(now: Instant, owed: frozenset[Owed], ttl: int | None) -> Item:
    """When it ended, and either what is owed or when the row may be forgotten."""
    assert (ttl is None) == bool(owed), "a row is forgotten only when nothing is owed any more"
    rest = {"owed": items.owed_value(owed)} if ttl is None else {"ttl": wire.number(ttl)}
    return {"now": wire.number(now)} | rest


def retry_values(retry_at: Instant, wait_key: str | None) -> Item:
    """When it is tried again, and where it waits for that if not in the queue."""
    values = {"retryAt": wire.number(retry_at)}
    return values if wait_key is None else values | {"waitKey": wire.text(wait_key)}


def lease_over(now: Instant, clock_error_ms: int) -> Value:
    """What a lease must end before to be over for everybody: two machines' clocks are compared."""
    return wire.number(now - 2 * clock_error_ms)


def of_execution(ref: ExecutionRef, write: Write, values: Item) -> Request:
    """An update of one execution."""
    return Request(table=Table.EXECUTIONS, key=keys.execution(ref), write=write, read=items.from_item, values=values)
