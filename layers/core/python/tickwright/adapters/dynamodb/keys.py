"""Every key of the four tables: one function each, with the access pattern it serves and its cost above it.

Must not know what an item holds beside its key. Units: a write of up to 1 KB is 1, a strong read of up to 4 KB is 1, an
eventual one 0.5; in a transaction all of them twice. docs/data-model.md is this file in words.
"""

from tickwright.adapters.dynamodb.wire import Item, Value, as_text, text
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Page
from tickwright.domain.lanes import Lane

PAYLOAD = "PAYLOAD#"
TENANT = "TENANT#"  # what the partitions of tenants begin with
CALENDAR = "CALENDAR#"  # what the keys of all calendars begin with
POOL = "POOL#"  # and those of all pools
SEAT = "SEAT#"  # and those of all seats
API_KEY_OF = "APIKEY#"  # and those that say which API keys a tenant has
_CHECK_AT_DIGITS = 15  # milliseconds until the year 33658, fixed so that keys sort as instants do


# The moving part of a job: read strongly before a decision is judged (1), updated once a tick (1, and 2 of its index).
def head(job_id: JobId) -> Item:
    """One head."""
    return {"jobId": text(job_id), "sk": text("HEAD")}


# One version of a job: written once (1 a KB), read eventually and then kept in the process (0.5 for each 4 KB,
# four times an hour).
def definition(job_id: JobId, version: int) -> Item:
    """One version; fixed width, so that versions sort."""
    return {"jobId": text(job_id), "sk": text(f"DEF#{version:010d}")}


# The partition of the index `due`: queried eventually each second by the loop that owns the bucket (0.5 for each 4 KB,
# 0.5 if empty). Bucket and lane make one partition, so a herd in one lane is never in another's way.
def due(bucket: int, lane: Lane) -> str:
    """Where the heads of one bucket and lane wait."""
    return f"{bucket:03d}#{lane.value}"


def bucket_of_due(partition: str) -> int:
    """The bucket of such a partition."""
    return int(partition.partition("#")[0])


# One execution: put once (1), moved by claim and completion (1 each), read strongly where something is decided (1).
# The partition is the job, so a job's executions are one range in the order of time.
def execution(ref: ExecutionRef) -> Item:
    """One execution."""
    return {"jobId": text(ref.job_id), "key": text(ref.key)}


# A page of the journal: put once for up to 100 entries (1 a KB), deleted once (1 a KB), queried strongly from the
# beginning of its bucket's partition up to now (1 for each 4 KB). Time comes first; the writer keeps two pages apart.
def page(bucket: int, check_at: Instant, writer: str) -> Item:
    """One page."""
    return {"bucket": journal_bucket(bucket), "page": text(f"{check_at:0{_CHECK_AT_DIGITS}d}#{writer}")}


def page_of(put: Page) -> Item:
    """The key of a page."""
    return page(put.bucket, put.check_at, put.writer)


def journal_bucket(bucket: int) -> Value:
    """The partition of a bucket's pages."""
    return text(f"{bucket:03d}")


def page_bound(until: Instant) -> str:
    """What every page due at or before `until` sorts before."""
    return f"{until + 1:0{_CHECK_AT_DIGITS}d}"


# The lease of a bucket: read strongly (1) and renewed (1) every few seconds by its owner, read by waiters.
def lease(bucket: int) -> Item:
    """One bucket's record."""
    return _control(f"BUCKET#{bucket}", "LEASE")


# An API key by the hash of its secret: read strongly at each request that no cache answers (1).
def api_key(key_hash: str) -> Item:
    """One key."""
    return _control(f"KEY#{key_hash}", "KEY")


# That a tenant has an API key: put before the key itself (1), queried when somebody lists them (1 for each 4 KB).
def api_key_of(tenant_id: TenantId, key_hash: str) -> Item:
    """One entry of a tenant's list of keys; it holds nothing beside its key."""
    return _control(f"TENANT#{tenant_id}", f"{API_KEY_OF}{key_hash}")


# What a request has created: put in the submit's transaction (2 a KB), read strongly when it is repeated (1).
def idempotency(tenant_id: TenantId, key: str) -> Item:
    """One request of a tenant."""
    return _control(f"TENANT#{tenant_id}", f"IDEM#{key}")


# A name, unique within its tenant: put in the submit's transaction (2), read strongly (1).
def name(tenant_id: TenantId, name: str) -> Item:
    """One name of a tenant."""
    return _control(f"TENANT#{tenant_id}", f"NAME#{name}")


def webhook(tenant_id: TenantId) -> Item:
    """The last rotation of a tenant's signing secret."""
    return _control(f"TENANT#{tenant_id}", "WEBHOOK")


# A tenant's pool: put when a person says so (1), read strongly when a job names it and at each claim from it (1). A
# tenant's pools are one range by name.
def pool(tenant_id: TenantId, name: str) -> Item:
    """One pool of a tenant."""
    return _control(f"TENANT#{tenant_id}", f"{POOL}{name}")


# A seat for a claim that waits: put when it sits down and when it leaves (1 each). A tenant's seats are one range by
# number, queried strongly by each claim that would wait (1 for each 4 KB).
def seat(tenant_id: TenantId, number: int) -> Item:
    """One seat of a tenant; fixed width, so that numbers sort."""
    return _control(f"TENANT#{tenant_id}", f"{SEAT}{number:03d}")


# A calendar as it stands now, up to 32 KB: put (2 a KB, in a transaction), read strongly before a tick is decided (1
# for each 4 KB). A tenant's calendars are one range by name.
def calendar(tenant_id: TenantId, name: str) -> Item:
    """One calendar of a tenant."""
    return _control(f"TENANT#{tenant_id}", f"{CALENDAR}{name}")


# A version of a calendar: put once in the same transaction (2 a KB), read when somebody asks for it.
def calendar_version(tenant_id: TenantId, name: str, version: int) -> Item:
    """One version of it."""
    return _control(f"TENANT#{tenant_id}", f"CALENDARVERSION#{name}#{version:010d}")


def tenant_of(item: Item) -> TenantId:
    """Under which tenant a record of the table control lies; ValueError if under none."""
    kind, found, tenant_id = as_text(item["pk"]).partition(TENANT)
    if kind or not found:
        raise ValueError("a record of no tenant")
    return TenantId(tenant_id)


# How far the deletion of a tenant has come: put by its operator (1), read strongly (1).
def deletion(tenant_id: TenantId) -> Item:
    """One tenant's."""
    return _control(f"TENANT#{tenant_id}", "DELETION")


# The log of one attempt, of up to 16 KB: put once, where the attempt said anything (1 a KB), queried strongly when
# somebody reads it (1 for each 4 KB). The partition is the execution, whose logs are one range by epoch.
def log(ref: ExecutionRef, place: str) -> Item:
    """One log."""
    return _control(f"LOG#{ref.id}", place)


# An order to redrive: put at each step of it (2 a KB in a transaction; up to 6 KB while it has many in hand), read
# strongly by who looks at it (1), and with all others at each look of the watch (1 for each 4 KB, at least 1).
def order(tenant_id: TenantId, order_id: str) -> Item:
    """One order of a tenant; all lie in one partition."""
    return _control("REDRIVES", f"{tenant_id}#{order_id}")


# The payload that one execution has of its own: put once in its transaction (2 a KB), read strongly by each attempt.
def own_payload(ref: ExecutionRef) -> Item:
    """One execution's."""
    return _control(f"{PAYLOAD}{ref.job_id}", ref.key)


def _control(pk: str, sk: str) -> Item:
    return {"pk": text(pk), "sk": text(sk)}
