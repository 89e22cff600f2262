"""What a job's head and its definitions look like in the table.

The head stays under 1 KB, since each tick is charged for the whole of it and for two copies in the index. `plan` holds
what the API alone changes, so that it is written as one value. The payload stands beside its definition's document,
not quoted inside it.
"""

import json
from dataclasses import replace
from typing import Any

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.items.documents import spec_from_document, spec_to_document
from tickwright.adapters.dynamodb.items.shape import FLAG, NUMBER, TEXT, Codec, Field, Shape, nested, one_of
from tickwright.adapters.dynamodb.wire import Item, Value
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Aimed, CatchUp, CatchUpMode, Definition, Head, JobStatus, Overlap, Reopened, Verdict
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA

_CATCH_UP = Shape(
    CatchUp,
    (
        Field("mode", "mode", one_of(CatchUpMode)),
        Field("window_s", "w", NUMBER, was="windowSec"),
        Field("on_resume", "o", FLAG, was="onResume"),
        Field("max_runs", "n", NUMBER),
        Field("rate_per_min", "r", NUMBER),
    ),
)
_AIMED = Shape(Aimed, (Field("was", "at", NUMBER), Field("tzdata", "tz", TEXT)))
_VERDICT = Codec(lambda verdict: wire.text(verdict.text()), lambda value: Verdict.from_text(wire.as_text(value)))
_REOPENED = Codec(lambda reopened: wire.text(reopened.text()), lambda value: Reopened.from_text(wire.as_text(value)))
_PLAN = (
    Field("schedule", "schedule", TEXT),
    Field("overlap", "overlap", one_of(Overlap)),
    Field("catch_up", "catchup", nested(_CATCH_UP)),
    Field("max_attempts", "m", NUMBER, was="maxAttempts"),
    Field("run_deadline_s", "d", NUMBER, was="runDeadlineSec"),
    Field("paused_at", "pausedAt", NUMBER),
    Field("held", "held", NUMBER),  # with pausedAt alone, when nextRunAt and bucket are not there
    Field("reach_s", "reachS", NUMBER),
    # One letter each: with all of them, and the longest of everything else, the item must stay under a kilobyte.
    Field("settled_through", "s", NUMBER),
    Field("pending_version", "p", NUMBER),
    Field("effective_from", "f", NUMBER),
    Field("aimed_from", "a", nested(_AIMED)),
    Field("pool", "o", replace(TEXT, absent=LAMBDA)),
)
_MOVING = (
    Field("job_id", "jobId", TEXT),
    Field("tenant_id", "tenantId", TEXT),
    Field("status", "status", one_of(JobStatus)),
    Field("version", "version", NUMBER),
    Field("definition_version", "definitionVersion", NUMBER),
    Field("lane", "lane", one_of(Lane)),
    Field("created_at", "createdAt", NUMBER),
    Field("listed_as", "listedAs", TEXT),
    Field("next_run_at", "nextRunAt", NUMBER),
    Field("tzdata", "tzdata", Codec(wire.text, wire.as_text, absent="")),
    Field("fired_through", "firedThrough", NUMBER),
    Field("fired_version", "firedVersion", NUMBER),
    Field("fired_at", "firedAt", NUMBER),
    Field("fired_as", "firedAs", _VERDICT),
    Field("passed_through", "passedThrough", NUMBER),
    Field("runs", "runs", NUMBER),
    Field("active", "active", TEXT),
    Field("waiting", "waiting", NUMBER),
    Field("reopened", "reopened", _REOPENED),
    Field("write_token", "writeToken", TEXT),
)
_PLAN_OF_HEAD: Shape[Any] = Shape(dict, _PLAN)
_MOVING_OF_HEAD: Shape[Any] = Shape(dict, _MOVING)


def head_to_item(head: Head) -> Item:
    """The whole item."""
    item = _MOVING_OF_HEAD.attributes(head) | keys.head(head.job_id) | {"plan": plan_value(head)}
    return item if head.bucket is None else item | {"bucket": due_value(head)}


def head_from_item(item: Item) -> Head:
    """The head of an item, of the table or of the index `due`, which projects all of it."""
    partition = item.get("bucket")
    bucket = None if partition is None else keys.bucket_of_due(wire.as_text(partition))
    head = Head(**_MOVING_OF_HEAD.entity(item), **_PLAN_OF_HEAD.entity(wire.as_document(item["plan"])), bucket=bucket)
    assert item["sk"] == wire.text("HEAD")
    assert bucket is None or due_value(head) == partition
    return head


def plan_value(head: Head) -> Value:
    """What the API has settled for the loop, as it stands in the item."""
    return wire.document(_PLAN_OF_HEAD.attributes(head))


def due_value(head: Head) -> Value:
    """The partition of the due index that the head waits in."""
    assert head.bucket is not None
    return wire.text(keys.due(head.bucket, head.lane))


def definition_to_item(definition: Definition) -> Item:
    """The whole item."""
    return {
        **keys.definition(definition.job_id, definition.version),
        "version": wire.number(definition.version),
        "tenantId": wire.text(definition.tenant_id),
        "createdAt": wire.number(definition.created_at),
        "spec": wire.text(spec_to_document(definition.spec)),
        "payload": wire.text(definition.spec.payload),
        **_named_before(definition),
    }


def _named_before(definition: Definition) -> Item:
    """What earlier versions have called secret, where any has."""
    named = json.dumps(dict(definition.named_before), ensure_ascii=False, separators=(",", ":"))
    return {"namedBefore": wire.text(named)} if definition.named_before else {}


def definition_from_item(item: Item) -> Definition:
    """The definition of an item."""
    return Definition(
        job_id=JobId(wire.as_text(item["jobId"])),
        version=wire.as_number(item["version"]),
        tenant_id=TenantId(wire.as_text(item["tenantId"])),
        created_at=Instant(wire.as_number(item["createdAt"])),
        spec=spec_from_document(wire.as_text(item["spec"]), payload=wire.as_text(item["payload"])),
        named_before=tuple(json.loads(wire.as_text(item["namedBefore"])).items()) if "namedBefore" in item else (),
    )


def job_id_of(entry: Item) -> JobId:
    """The job that an index entry names."""
    return JobId(wire.as_text(entry["jobId"]))
