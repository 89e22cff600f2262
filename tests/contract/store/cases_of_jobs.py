"""One case for every write of heads, definitions and control records, and how any item is brought into a store before.

Must not hold assertions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.contract.store.cases import NEXT, NOW, Case
from tests.support.builders import (
    JOB,
    TENANT,
    TICK,
    a_calendar,
    a_definition,
    a_head,
    a_job_id,
    a_name_record,
    an_id,
    an_idempotency_record,
    decided,
)
from tickwright.domain.changes.calendars import PutCalendar, PutCalendarVersion
from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import Advance, Occupy, PutDefinition, PutHead, Reopen, Rewrite, StillOpen
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import RUN, SKIP_OVERLAP, Definition, Head, JobStatus, Reopened
from tickwright.domain.journal import Entry, Page, PutPage
from tickwright.domain.leases import BucketLease, RenewBucket, TakeBucket
from tickwright.domain.own_payloads import OwnPayload, PutOwnPayload
from tickwright.domain.pools import Pool
from tickwright.domain.redrive_orders import Order, PutOrder
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import PutSeat, Seat
from tickwright.domain.tenants import IdempotencyRecord, NameRecord, PutIdempotency, PutName
from tickwright.domain.webhooks import PutRotation, Rotation
from tickwright.ports.store import AnyChange, Applied, Store

HEAD = a_head()
PAUSED = a_head(status=JobStatus.PAUSED)
CANCELLED = a_head(status=JobStatus.CANCELLED)
FIRED = decided(a_head(), TICK, next_run_at=NEXT)
OCCUPANT = "20261201T000000000Z@1"
OTHER = "20261130T235900000Z@1"

ADVANCE = Advance(
    job_id=JOB,
    tick=TICK,
    version=1,
    definition_version=1,
    seen_fired_through=None,
    seen_active=None,
    next_run_at=NEXT,
    tzdata="2026.3",
    fire=TICK,
    verdict=RUN,
    fired_at=NOW,
    takes_active=OCCUPANT,
    pins_active=True,
    passed_through=None,
    ends=False,
)
LAST = replace(ADVANCE, next_run_at=None, ends=True)
SKIPPED = replace(ADVANCE, verdict=SKIP_OVERLAP, takes_active=None, seen_active=OTHER)
JUMPED = replace(
    ADVANCE, fire=None, verdict=None, takes_active=None, pins_active=False, passed_through=Instant(TICK + 30_000)
)
REWRITE = Rewrite(
    new=a_head(version=2, status=JobStatus.PAUSED, paused_at=NOW, write_token=an_id(8)),
    seen_version=1,
    seen_next_run_at=TICK,
    pins_decision=True,
)
RENEW = RenewBucket(bucket=3, holder="loop-1", epoch=Epoch(4), rvn=an_id(23), tzdata="2026.3")
OCCUPY = Occupy(job_id=JOB, version=1, seen_active=None, active=OCCUPANT)
BEFORE = Reopened(since=TICK, until=NOW)
REOPEN = Reopen(
    job_id=JOB,
    version=1,
    seen_active=None,
    active=OCCUPANT,
    seen_reopened=None,
    reopened=Reopened(since=Instant(TICK - 1), until=NEXT),
)

OF_HEADS = (
    Case(
        name="create a job",
        change=PutHead(head=HEAD),
        accepts=None,
        refuses=(replace(HEAD, write_token=an_id(9)), replace(FIRED, write_token=an_id(9)), replace(HEAD, version=2)),
        again=True,
    ),
    Case(
        name="advance",
        change=ADVANCE,
        accepts=HEAD,
        refuses=(
            replace(HEAD, version=2),
            replace(HEAD, next_run_at=NEXT),
            replace(HEAD, active=OTHER),
            replace(FIRED, fired_through=Instant(TICK - 60_000), next_run_at=TICK),
            FIRED,
            PAUSED,
            CANCELLED,
        ),
        again=False,
    ),
    Case(name="advance for the last time", change=LAST, accepts=HEAD, refuses=(PAUSED,), again=False),
    Case(name="advance and skip", change=SKIPPED, accepts=replace(HEAD, active=OTHER), refuses=(HEAD,), again=False),
    Case(
        name="advance over missed ticks",
        change=JUMPED,
        accepts=replace(HEAD, active=OTHER),
        refuses=(replace(HEAD, version=2),),
        again=False,
    ),
    Case(
        name="rewrite",
        change=REWRITE,
        accepts=HEAD,
        refuses=(replace(HEAD, version=2), replace(FIRED, version=1), replace(HEAD, version=3)),
        again=True,
    ),
    Case(
        name="rewrite, whatever was decided meanwhile",
        change=replace(REWRITE, pins_decision=False),
        accepts=replace(FIRED, active=OCCUPANT, passed_through=TICK),
        refuses=(replace(HEAD, version=2),),
        again=True,
    ),
    Case(
        name="occupy",
        change=OCCUPY,
        accepts=PAUSED,
        refuses=(replace(HEAD, active=OTHER), replace(HEAD, version=2), CANCELLED, a_head(status=JobStatus.ENDED)),
        again=True,
    ),
    Case(
        name="occupy in place of one that has ended",
        change=replace(OCCUPY, seen_active=OTHER),
        accepts=replace(HEAD, active=OTHER),
        refuses=(HEAD,),
        again=True,
    ),
    Case(
        name="see that a job is open",
        change=StillOpen(job_id=JOB, version=1),
        accepts=FIRED,
        refuses=(replace(HEAD, version=2), CANCELLED, a_head(status=JobStatus.ENDED)),
        again=True,
    ),
    Case(
        name="reopen a free job",
        change=REOPEN,
        accepts=a_head(status=JobStatus.ENDED),
        refuses=(
            CANCELLED,
            replace(HEAD, version=2),
            replace(HEAD, active=OTHER),
            replace(HEAD, reopened=BEFORE),
        ),
        again=True,
    ),
    Case(
        name="reopen a job after its own dead generation",
        change=replace(REOPEN, seen_active=OTHER, seen_reopened=BEFORE),
        accepts=replace(PAUSED, active=OTHER, reopened=BEFORE),
        refuses=(HEAD, replace(HEAD, active=OTHER), replace(HEAD, reopened=BEFORE)),
        again=True,
    ),
    Case(
        name="reopen a job that anybody may run beside",
        change=replace(REOPEN, seen_active=OTHER, active=None),
        accepts=replace(HEAD, active=OCCUPANT),
        refuses=(CANCELLED, replace(HEAD, reopened=BEFORE)),
        again=True,
    ),
)

LEASE = BucketLease(bucket=3, owner="loop-1", lease_epoch=Epoch(4), rvn=an_id(20))
RECORD = an_idempotency_record()
ROTATION = Rotation(tenant_id=TENANT, number=2, rotated_at=NOW)
NAME = a_name_record()
CALENDAR = a_calendar()
PAGE = Page(bucket=3, check_at=NEXT, writer=an_id(31), entries=(Entry(job_id=JOB, key=tick_key(TICK), version=1),))
KEPT = a_calendar(write_token=an_id(44))  # known by its token as a version that is kept, not as what stands now

OF_OTHERS = (
    Case(
        name="write a version",
        change=PutDefinition(definition=a_definition()),
        accepts=None,
        refuses=(a_definition(created_at=NOW),),
        again=True,
    ),
    Case(
        name="take a bucket that nobody had",
        change=TakeBucket(bucket=3, owner="loop-2", rvn=an_id(21), seen_rvn=None),
        accepts=None,
        refuses=(LEASE,),
        again=True,
    ),
    Case(
        name="take a bucket above a base",
        change=TakeBucket(bucket=3, owner="loop-2", rvn=an_id(21), seen_rvn=LEASE.rvn, epoch_base=Epoch(50_000)),
        accepts=LEASE,
        refuses=(replace(LEASE, rvn=an_id(22)),),
        again=True,
    ),
    Case(
        name="take a bucket that stood still",
        change=TakeBucket(bucket=3, owner="loop-2", rvn=an_id(21), seen_rvn=LEASE.rvn),
        accepts=LEASE,
        refuses=(replace(LEASE, rvn=an_id(22)),),
        again=True,
    ),
    Case(
        name="renew a bucket",
        change=RENEW,
        accepts=LEASE,
        refuses=(replace(LEASE, owner="loop-2"), replace(LEASE, lease_epoch=Epoch(5)), replace(LEASE, owner=None)),
        again=True,
    ),
    Case(
        name="give a bucket up",
        change=replace(RENEW, give_up=True, drained=True),
        accepts=LEASE,
        refuses=(replace(LEASE, lease_epoch=Epoch(5)),),
        again=True,
    ),
    Case(
        name="note a request",
        change=PutIdempotency(record=RECORD, now=NOW),
        accepts=None,
        refuses=(replace(RECORD, token=an_id(24)), replace(RECORD, token=an_id(24), expires_at=Instant(NOW + 1))),
        again=True,
    ),
    Case(
        name="note a request whose key was used long ago",
        change=PutIdempotency(record=RECORD, now=NOW),
        accepts=replace(RECORD, token=an_id(24), expires_at=NOW),
        refuses=(),
        again=True,
    ),
    Case(
        name="put a page beside what it names",
        change=PutPage(page=PAGE),
        accepts=None,
        refuses=(replace(PAGE, looks=1),),
        again=True,
    ),
    Case(
        name="take a name",
        change=PutName(record=NAME),
        accepts=None,
        refuses=(replace(NAME, job_id=a_job_id(5)),),
        again=True,
    ),
    Case(
        name="take a name that was given up",
        change=PutName(record=NAME),
        accepts=replace(NAME, job_id=a_job_id(5), released=True),
        refuses=(),
        again=True,
    ),
    Case(
        name="rotate a signing secret for the first time",
        change=PutRotation(rotation=ROTATION),
        accepts=None,
        refuses=(replace(ROTATION, rotated_at=Instant(NOW + 1)), replace(ROTATION, number=3)),
        again=True,
    ),
    Case(
        name="rotate a signing secret from what was seen",
        change=PutRotation(rotation=replace(ROTATION, number=3, rotated_at=Instant(NOW + 1))),
        accepts=ROTATION,
        refuses=(replace(ROTATION, number=3), replace(ROTATION, number=4)),
        again=True,
    ),
    Case(
        name="put a new calendar",
        change=PutCalendar(calendar=CALENDAR),
        accepts=None,
        refuses=(replace(CALENDAR, write_token=an_id(41)),),
        again=True,
    ),
    Case(
        name="put a calendar in place of what was seen",
        change=PutCalendar(calendar=replace(CALENDAR, version=2, write_token=an_id(42)), seen_token=an_id(40)),
        accepts=CALENDAR,
        refuses=(replace(CALENDAR, write_token=an_id(41)), replace(CALENDAR, version=2, write_token=an_id(43))),
        again=True,
    ),
    Case(
        name="keep a version of a calendar",
        change=PutCalendarVersion(calendar=KEPT),
        accepts=None,
        refuses=(),
        again=True,
    ),
    Case(
        name="give a name up",
        change=PutName(record=replace(NAME, released=True)),
        accepts=NAME,
        refuses=(replace(NAME, job_id=a_job_id(5)),),
        again=True,
    ),
)


async def bring(store: Store, item: Any) -> None:  # noqa: ANN401 - items of any kind
    """Have the item stored as it is, by writes of the port alone."""
    for change in _ways_to(item):
        outcome = await store.write(change)
        if not isinstance(outcome, Applied):
            raise TypeError(f"{change} was refused by {outcome}")
    if await stored_like(store, item) != item:
        raise ValueError(f"{item} could not be brought into the store")


def _ways_to(item: Any) -> list[AnyChange]:  # noqa: ANN401 - items of any kind
    match item:
        case BucketLease():
            return list(_takes(item))
        case Rotation():
            return [PutRotation(rotation=replace(item, number=number)) for number in range(2, item.number + 1)]
        case Pool():
            return [PutPool(pool=replace(item, version=version)) for version in range(1, item.version + 1)]
        case _:
            return [_PUTS[type(item)](item)]


_PUTS: dict[type, Callable[[Any], AnyChange]] = {
    Execution: lambda item: Insert(execution=item),
    Head: lambda item: PutHead(head=item),
    Definition: lambda item: PutDefinition(definition=item),
    IdempotencyRecord: lambda item: PutIdempotency(record=item, now=Instant(0)),
    Seat: lambda item: PutSeat(seat=item, now=Instant(0), clock_error_ms=0),
    NameRecord: lambda item: PutName(record=item),
    Calendar: lambda item: PutCalendar(calendar=item),
    Page: lambda item: PutPage(page=item),
    Order: lambda item: PutOrder(order=item),
    OwnPayload: lambda item: PutOwnPayload(payload=item),
}


def _takes(lease: BucketLease) -> list[AnyChange]:
    """A bucket is taken as often as its epoch says, and given up at the end if nobody owns it."""
    rvns = [f"{lease.rvn}-{number}" for number in range(1, lease.lease_epoch)] + [lease.rvn]
    if lease.owner is None:
        rvns[-1] = f"{lease.rvn}-last"
    owner = lease.owner or "loop-0"
    takes: list[AnyChange] = [
        TakeBucket(bucket=lease.bucket, owner=owner, rvn=rvn, seen_rvn=seen)
        for seen, rvn in zip([None, *rvns], rvns, strict=False)
    ]
    if lease.owner is None:
        takes.append(
            RenewBucket(
                bucket=lease.bucket, holder=owner, epoch=lease.lease_epoch, rvn=lease.rvn, tzdata="", give_up=True
            )
        )
    return takes


async def stored_like(store: Store, item: Any) -> Any:  # noqa: ANN401 - items of any kind
    """What is stored where this item belongs."""
    return await _READS[type(item)](store, item)


async def _page_like(store: Store, page: Page) -> Page | None:
    return next(iter(await store.pages(page.bucket, until=page.check_at, limit=1)), None)


async def _calendar_like(store: Store, item: Calendar) -> Calendar | None:
    if item.write_token == KEPT.write_token:
        return (await store.calendar_versions(item.tenant_id, item.name, [item.version])).get(item.version)
    return (await store.calendars(item.tenant_id, [item.name])).get(item.name)


async def _seat_like(store: Store, item: Seat) -> Seat | None:
    return next((seat for seat in await store.seats_of(item.tenant_id) if seat.number == item.number), None)


_READS: dict[type, Callable[[Store, Any], Awaitable[Any]]] = {
    Execution: lambda store, item: store.execution(item.ref),
    Head: lambda store, item: store.head(item.job_id),
    Definition: lambda store, item: store.definition(item.job_id, item.version),
    BucketLease: lambda store, item: store.lease(item.bucket),
    IdempotencyRecord: lambda store, item: store.idempotency(item.tenant_id, item.key),
    NameRecord: lambda store, item: store.named(item.tenant_id, item.name),
    Rotation: lambda store, item: store.webhook_rotation(item.tenant_id),
    Pool: lambda store, item: store.pool(item.tenant_id, item.name),
    Seat: _seat_like,
    Calendar: _calendar_like,
    Page: _page_like,
    Order: lambda store, item: store.redrive_order(item.tenant_id, item.order_id),
    OwnPayload: lambda store, item: store.own_payload(item.ref),
}
