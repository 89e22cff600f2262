"""What an execution looks like in the table: about 600 bytes without error or result, so a move is one write unit."""

from dataclasses import replace

from tickwright.adapters.dynamodb.items.shape import FLAG, FRACTION, NUMBER, TEXT, Field, Shape, nested, one_of, set_of
from tickwright.adapters.dynamodb.wire import Item, Value, as_text
from tickwright.domain.executions import Cause, Discarded, ErrorSummary, Execution, Noted, Owed, PassedOver, Reason
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA
from tickwright.domain.transitions import State

_ERROR = Shape(
    ErrorSummary,
    (
        Field("error_class", "errorClass", TEXT),
        Field("message", "message", TEXT),
        Field("trace", "trace", TEXT),
        Field("fingerprint", "fingerprint", TEXT),
    ),
)
_DISCARDED = Shape(Discarded, (Field("at", "at", NUMBER), Field("reason", "reason", TEXT)))
_PASSED = Shape(
    PassedOver,
    (
        Field("first", "first", NUMBER),
        Field("last", "last", NUMBER),
        Field("count", "count", NUMBER),
        Field("exact", "exact", FLAG),
        Field("reason", "reason", replace(one_of(Reason), absent=Reason.MISSED)),
        Field("by", "by", TEXT),
    ),
)
ERROR = nested(_ERROR)
_NOTED = Shape(Noted, (Field("progress", "progress", FRACTION), Field("checkpoint", "checkpoint", TEXT)))
NOTED = nested(_NOTED)
OWED = set_of(Owed)
DISCARDED = nested(_DISCARDED)

_EXECUTION = Shape(
    Execution,
    (
        Field("job_id", "jobId", TEXT),
        Field("key", "key", TEXT),
        Field("tenant_id", "tenantId", TEXT),
        Field("lane", "lane", one_of(Lane)),
        Field("pool", "pool", replace(TEXT, absent=LAMBDA)),
        Field("state", "state", one_of(State)),
        Field("scheduled_at", "scheduledAt", NUMBER),
        Field("created_at", "createdAt", NUMBER),
        Field("job_version", "jobVersion", NUMBER),
        Field("max_attempts", "maxAttempts", NUMBER),
        Field("cause", "cause", one_of(Cause)),
        Field("reason", "reason", one_of(Reason)),
        Field("generation", "generation", NUMBER),
        Field("redriven_at", "redrivenAt", NUMBER),
        Field("lease_epoch", "leaseEpoch", NUMBER),
        Field("attempt", "attempt", NUMBER),
        Field("attempts_before", "attemptsBefore", replace(NUMBER, absent=0)),
        Field("retry_afters", "retryAfters", NUMBER),
        Field("retry_at", "retryAt", NUMBER),
        Field("lease_owner", "leaseOwner", TEXT),
        Field("claim_token", "claimToken", TEXT),
        Field("lease_until", "leaseUntil", NUMBER),
        Field("deadline_at", "deadlineAt", NUMBER),
        Field("run_deadline_at", "runDeadlineAt", NUMBER),
        Field("started_at", "startedAt", NUMBER),
        Field("finished_at", "finishedAt", NUMBER),
        Field("failed_at", "failedAt", NUMBER),  # with tenantId the attention index: set on the dead alone
        Field("wait_key", "waitKey", TEXT),  # with waitAt the waiting index: set only while it waits
        Field("wait_at", "waitAt", NUMBER),
        Field("effects", "effects", OWED),
        Field("owed", "owed", OWED),
        Field("error", "error", ERROR),
        Field("result", "result", TEXT),
        Field("noted", "noted", NOTED),
        Field("passed", "passed", nested(_PASSED)),
        Field("nominal", "nominal", TEXT),
        Field("tzdata", "tzdata", TEXT),
        Field("discarded", "discarded", DISCARDED),
        Field("rerun_of", "rerunOf", TEXT),
        Field("ttl", "ttl", NUMBER),
    ),
)


def to_item(execution: Execution) -> Item:
    """The whole item; its key is among its fields."""
    return _EXECUTION.attributes(execution)


def from_item(item: Item) -> Execution:
    """The execution of an item."""
    return _EXECUTION.entity(item)


def error_value(error: ErrorSummary) -> Value:
    """An error summary as it stands in the item."""
    return ERROR.write(error)


def noted_value(noted: Noted) -> Value:
    """What a holder has noted as it stands in the item."""
    return NOTED.write(noted)


def noted_members(noted: Noted) -> dict[str, Value]:
    """The same, each of its members on its own."""
    return _NOTED.attributes(noted)


def discarded_value(discarded: Discarded) -> Value:
    """That it was discarded, as it stands in the item."""
    return DISCARDED.write(discarded)


def owed_value(owed: frozenset[Owed]) -> Value:
    """What is owed as it stands in the item; never empty."""
    return OWED.write(owed)


def ref_of(entry: Item) -> ExecutionRef:
    """The execution that an index entry names."""
    return ExecutionRef(JobId(as_text(entry["jobId"])), ExecutionKey(as_text(entry["key"])))
