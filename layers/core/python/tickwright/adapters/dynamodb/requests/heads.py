"""The changes of heads and definitions as requests. No rule is decided here: which values exist says which literal."""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.expressions import heads as expressions
from tickwright.adapters.dynamodb.expressions.heads import Fires, Pin
from tickwright.adapters.dynamodb.expressions.write import Write
from tickwright.adapters.dynamodb.items import jobs as items
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.changes.heads import Advance, Occupy, PutDefinition, PutHead, Reopen, Rewrite, StillOpen
from tickwright.domain.ids import JobId
from tickwright.domain.jobs import FiredAs


def put_head(change: PutHead) -> Request:
    """Create a job."""
    return Request(
        table=Table.JOBS,
        key=keys.head(change.job_id),
        write=expressions.PUT_HEAD,
        read=items.head_from_item,
        values={},
        put=items.head_to_item(change.head),
    )


def put_definition(change: PutDefinition) -> Request:
    """Write a version."""
    definition = change.definition
    return Request(
        table=Table.JOBS,
        key=keys.definition(definition.job_id, definition.version),
        write=expressions.PUT_DEFINITION,
        read=items.definition_from_item,
        values={},
        put=items.definition_to_item(definition),
    )


def advance(change: Advance) -> Request:
    """A, in the literal for what was seen and for what the tick becomes."""
    seen = (change.seen_fired_through is not None, _pin(change))
    becomes = (change.ends, _fires(change), bool(change.passed_through))
    values = _seen(change) | _decided(change)
    return _of_head(change.job_id, expressions.ADVANCE[seen, becomes], values)


def _pin(change: Advance) -> Pin:
    if not change.pins_active:
        return Pin.NOTHING
    return Pin.FREE if change.seen_active is None else Pin.SEEN


def _fires(change: Advance) -> Fires:
    if change.fire is None:
        return Fires.NOTHING
    return Fires.TICK if change.takes_active is None else Fires.OCCUPYING


def _seen(change: Advance) -> Item:
    values = {"tick": wire.number(change.tick), "version": wire.number(change.version)}
    if change.seen_fired_through is not None:
        values["seenFiredThrough"] = wire.number(change.seen_fired_through)
    if change.pins_active and change.seen_active is not None:
        values["seenActive"] = wire.text(change.seen_active)
    return values


def _decided(change: Advance) -> Item:
    values: Item = {}
    if change.next_run_at is not None:
        values |= {"nextRunAt": wire.number(change.next_run_at), "tzdata": wire.text(change.tzdata)}
    if change.passed_through:
        values["passedThrough"] = wire.number(change.passed_through)
    if change.fire is not None and change.takes_active is not None:
        values["occupant"] = wire.text(change.takes_active)
    return values | _fired(change)


def _fired(change: Advance) -> Item:
    if change.fire is None:
        return {}
    assert change.verdict is not None
    return {
        "fire": wire.number(change.fire),
        "firedVersion": wire.number(change.definition_version),
        "firedAt": wire.number(change.fired_at),
        "firedAs": wire.text(change.verdict.text()),
        "ran": wire.number(int(change.verdict.fired_as is FiredAs.RUN)),
    }


def rewrite(change: Rewrite) -> Request:
    """The API's write of a head; what the scheduler owns is not named, so it stays as it stands."""
    new, due = change.new, change.new.next_run_at is not None
    assert new.write_token is not None
    values = {
        "seenVersion": wire.number(change.seen_version),
        "tenantId": wire.text(new.tenant_id),
        "status": wire.text(new.status.value),
        "version": wire.number(new.version),
        "definitionVersion": wire.number(new.definition_version),
        "lane": wire.text(new.lane.value),
        "plan": items.plan_value(new),
        "createdAt": wire.number(new.created_at),
        "listedAs": wire.text(new.listed_as),
        "writeToken": wire.text(new.write_token),
    }
    if new.next_run_at is not None:
        values |= {"bucket": items.due_value(new), "nextRunAt": wire.number(new.next_run_at)}
        values["tzdata"] = wire.text(new.tzdata)
    if not change.pins_decision:
        return _of_head(change.job_id, expressions.REWRITE[due], values)
    if change.seen_next_run_at is None:
        return _of_head(change.job_id, expressions.REWRITE_NOT_DUE[due], values)
    values["seenNextRunAt"] = wire.number(change.seen_next_run_at)
    return _of_head(change.job_id, expressions.REWRITE_AS_DUE[due], values)


def occupy(change: Occupy) -> Request:
    """Let a manual run occupy its job."""
    values = {"version": wire.number(change.version), "occupant": wire.text(change.active)}
    if change.seen_active is None:
        return _of_head(change.job_id, expressions.OCCUPY_FREE, values)
    values["seenActive"] = wire.text(change.seen_active)
    return _of_head(change.job_id, expressions.OCCUPY_AFTER, values)


def still_open(change: StillOpen) -> Request:
    """A check in a transaction."""
    return _of_head(change.job_id, expressions.STILL_OPEN, {"version": wire.number(change.version)})


def reopen(change: Reopen) -> Request:
    """Let an execution be redriven, in the literal for what was seen."""
    values = {"version": wire.number(change.version), "reopened": wire.text(change.reopened.text())}
    pin = Pin.NOTHING
    if change.seen_reopened is not None:
        values["seenReopened"] = wire.text(change.seen_reopened.text())
    if change.active is not None:
        values["occupant"] = wire.text(change.active)
        pin = Pin.FREE if change.seen_active is None else Pin.SEEN
    if change.active is not None and change.seen_active is not None:
        values["seenActive"] = wire.text(change.seen_active)
    return _of_head(change.job_id, expressions.REOPEN[change.seen_reopened is not None, pin], values)


def _of_head(job_id: JobId, write: Write, values: Item) -> Request:
    return Request(table=Table.JOBS, key=keys.head(job_id), write=write, read=items.head_from_item, values=values)
