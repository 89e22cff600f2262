"""How a list is asked for and where its next page begins: the index's keys of the last item, as one short text.

Must not know who signs it: a `next_key` is the store's own and comes back unchanged.
"""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.expressions import queries
from tickwright.adapters.dynamodb.expressions.queries import Query
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant, to_key
from tickwright.domain.lanes import Lane

_END_OF_TIME = 1 << 53  # later than any instant that a store is given


def executions_of(job_id: JobId, since: Instant | None) -> tuple[Query, Item]:
    """A job's executions, all of them or down to a time."""
    values = {"jobId": wire.text(job_id)}
    if since is None:
        return queries.EXECUTIONS_OF_JOB, values
    return queries.EXECUTIONS_OF_JOB_SINCE, values | {"since": wire.text(to_key(since))}


def execution_key(last: Item) -> str:
    """Where a job's next executions begin."""
    return wire.as_text(last["key"])


def after_execution(job_id: JobId, next_key: str) -> Item:
    """The key to go on after."""
    return keys.execution(ExecutionRef(job_id, ExecutionKey(next_key)))


def jobs_of(tenant_id: TenantId, prefix: str) -> tuple[Query, Item]:
    """A tenant's jobs; a prefix may not be empty in a condition."""
    values = {"tenantId": wire.text(tenant_id)}
    if not prefix:
        return queries.JOBS_OF_TENANT, values
    return queries.JOBS_OF_TENANT_NAMED, values | {"prefix": wire.text(prefix)}


def job_key(last: Item) -> str:
    """Where a tenant's next jobs begin; an id holds no space, a name may."""
    return f"{wire.as_text(last['jobId'])} {wire.as_text(last['listedAs'])}"


def after_job(tenant_id: TenantId, next_key: str) -> Item:
    """The key to go on after."""
    job_id, _, listed_as = next_key.partition(" ")
    return keys.head(JobId(job_id)) | {"tenantId": wire.text(tenant_id), "listedAs": wire.text(listed_as)}


def due_key(last: Item) -> str:
    """Where a bucket's next due heads begin."""
    return f"{wire.as_number(last['nextRunAt'])} {wire.as_text(last['jobId'])}"


def after_due(bucket: int, lane: Lane, next_key: str) -> Item:
    """The key to go on after."""
    at, job_id = next_key.split(" ")
    place = {"bucket": wire.text(keys.due(bucket, lane)), "nextRunAt": wire.number(int(at))}
    return keys.head(JobId(job_id)) | place


def calendars_of(tenant_id: TenantId) -> tuple[Query, Item]:
    """A tenant's calendars."""
    key = keys.calendar(tenant_id, "")
    return queries.CALENDARS_OF_TENANT, {"pk": key["pk"], "prefix": wire.text(keys.CALENDAR)}


def pools_of(tenant_id: TenantId) -> tuple[Query, Item]:
    """A tenant's pools."""
    key = keys.pool(tenant_id, "")
    return queries.POOLS_OF_TENANT, {"pk": key["pk"], "prefix": wire.text(keys.POOL)}


def api_keys_of(tenant_id: TenantId) -> tuple[Query, Item]:
    """Which keys a tenant has."""
    return queries.API_KEYS_OF_TENANT, {
        "pk": keys.api_key_of(tenant_id, "")["pk"],
        "prefix": wire.text(keys.API_KEY_OF),
    }


def hash_of_entry(entry: Item) -> str:
    """Which key an entry of that list is of, and where the next entries begin."""
    return wire.as_text(entry["sk"]).removeprefix(keys.API_KEY_OF)


def seats_of(tenant_id: TenantId) -> tuple[Query, Item]:
    """A tenant's seats."""
    return queries.SEATS_OF_TENANT, {"pk": keys.seat(tenant_id, 0)["pk"], "prefix": wire.text(keys.SEAT)}


def pool_key(last: Item) -> str:
    """Where a tenant's next pools begin."""
    return wire.as_text(last["sk"]).removeprefix(keys.POOL)


def calendar_key(last: Item) -> str:
    """Where a tenant's next calendars begin."""
    return wire.as_text(last["sk"]).removeprefix(keys.CALENDAR)


def logs_of(ref: ExecutionRef) -> tuple[Query, Item]:
    """The logs of an execution."""
    return queries.LOGS_OF_EXECUTION, {"pk": keys.log(ref, "")["pk"]}


def log_key(last: Item) -> str:
    """Where an execution's next logs begin."""
    return wire.as_text(last["sk"])


def orders_of(tenant_id: TenantId | None) -> tuple[Query, Item]:
    """A tenant's orders, or everybody's."""
    key = keys.order(tenant_id or TenantId(""), "")
    if tenant_id is None:
        return queries.ORDERS, {"pk": key["pk"]}
    return queries.ORDERS_OF_TENANT, {"pk": key["pk"], "prefix": key["sk"]}


def order_key(last: Item) -> str:
    """Where the next orders begin."""
    return wire.as_text(last["sk"])


def after_order(next_key: str) -> Item:
    """The key to go on after."""
    return keys.order(TenantId(""), "") | {"sk": wire.text(next_key)}


def attention_of(tenant_id: TenantId, since: Instant | None, until: Instant | None) -> Item:
    """A tenant's dead executions of a stretch of time, or of all time."""
    ends = {"since": wire.number(since or 0), "until": wire.number(_END_OF_TIME if until is None else until)}
    return {"tenantId": wire.text(tenant_id), **ends}


def attention_key(last: Item) -> str:
    """Where a tenant's next dead executions begin."""
    return f"{wire.as_number(last['failedAt'])} {wire.as_text(last['jobId'])} {wire.as_text(last['key'])}"


def after_attention(tenant_id: TenantId, next_key: str) -> Item:
    """The key to go on after."""
    failed_at, job_id, key = next_key.split(" ")
    ref = ExecutionRef(JobId(job_id), ExecutionKey(key))
    return keys.execution(ref) | {"tenantId": wire.text(tenant_id), "failedAt": wire.number(int(failed_at))}
