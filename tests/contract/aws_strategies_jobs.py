"""Stored heads, definitions and control records, drawn together with changes that fit them or miss by a little.

Must not hold assertions.
"""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.contract.aws_strategies import NOW, instants, job_ids, mostly
from tests.support.builders import TICK, a_calendar
from tickwright.domain.changes.calendars import PutCalendar
from tickwright.domain.changes.heads import Advance, Occupy, PutDefinition, PutHead, Reopen, Rewrite
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.executions import Reason
from tickwright.domain.ids import Epoch, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import (
    Aimed,
    CatchUp,
    CatchUpMode,
    Definition,
    FiredAs,
    Head,
    JobSpec,
    JobStatus,
    Overlap,
    Reopened,
    Target,
    Verdict,
)
from tickwright.domain.lanes import Lane
from tickwright.domain.leases import BucketLease, RenewBucket, TakeBucket
from tickwright.domain.pools import LAMBDA, Pool, PoolName
from tickwright.domain.retry import Jitter, RetryPolicy
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import PutSeat, Seat, furthest_end
from tickwright.domain.tenants import IdempotencyRecord, NameRecord, PutIdempotency, PutName
from tickwright.domain.webhooks import PutRotation, Rotation

TENANT = TenantId("acme")
LATER = Instant(NOW + 3_600_000)  # later than any decision that is drawn

verdicts = st.builds(Verdict, fired_as=st.sampled_from(FiredAs), reason=st.none() | st.sampled_from(Reason))
catch_ups = st.builds(
    CatchUp,
    mode=st.sampled_from(CatchUpMode),
    window_s=st.integers(0, 3_600),
    on_resume=st.booleans(),
    max_runs=st.none() | st.integers(1, 1_000),
    rate_per_min=st.none() | st.integers(1, 240),
)
occupants = st.sampled_from([None, "20261201T000000000Z@1", "20261201T000000000Z@2"])


@st.composite
def heads(draw: st.DrawFn) -> Head:
    """Any head that could be stored."""
    status = draw(st.sampled_from([JobStatus.ACTIVE, JobStatus.ACTIVE, *JobStatus]))
    due = status is JobStatus.ACTIVE and draw(st.integers(0, 9)) > 0
    fired = draw(st.booleans())
    waits = draw(st.booleans())
    return Head(
        job_id=draw(job_ids),
        tenant_id=TENANT,
        status=status,
        version=draw(st.integers(1, 3)),
        definition_version=draw(st.integers(1, 3)),
        lane=draw(st.sampled_from(Lane)),
        schedule=draw(st.sampled_from(['{"p":60000}', '{"c":["0 0 * * *"],"z":"Europe/Berlin"}'])),
        overlap=draw(st.sampled_from(Overlap)),
        catch_up=draw(catch_ups),
        max_attempts=draw(st.integers(1, 3)),
        pool=draw(st.sampled_from([LAMBDA, PoolName("gpu")])),
        created_at=draw(instants),
        listed_as=draw(st.sampled_from(["nightly", "Grüße, 世界"])),
        run_deadline_s=draw(st.none() | st.integers(1, 100)),
        bucket=draw(st.sampled_from([0, 17, 1_023])) if due else None,
        next_run_at=LATER if due else None,
        fired_through=draw(instants) if fired else None,
        fired_version=draw(st.integers(1, 3)) if fired else None,
        fired_at=draw(instants) if fired else None,
        fired_as=draw(verdicts) if fired else None,
        passed_through=draw(st.none() | instants),
        runs=draw(st.integers(0, 2)),
        active=draw(occupants),
        waiting=draw(st.integers(0, 2)),
        paused_at=draw(st.none() | instants),
        held=None if status is JobStatus.ACTIVE else draw(st.none() | instants),
        settled_through=draw(st.none() | instants),
        pending_version=3 if waits else None,
        effective_from=draw(instants) if waits else None,
        tzdata=draw(st.sampled_from(["", "2026.2"])),
        aimed_from=draw(st.none() | st.builds(Aimed, was=instants, tzdata=st.just("2026.1"))),
        write_token=draw(st.sampled_from([None, "token-a", "token-b"])),
    )


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Any definition that could be stored."""
    json_values = st.sampled_from([{}, {"ü": None, "n": [1, 2.5, True, {"deep": "\\n"}]}])
    spec = JobSpec(
        schedule='{"p":60000}',
        source=draw(json_values),
        target=Target(kind="http", settings=draw(json_values)),
        payload=draw(st.sampled_from(["null", '{"a": ["ü", "\\n"]}'])),
        lane=draw(st.sampled_from(Lane)),
        retry=RetryPolicy(
            initial_s=draw(st.sampled_from([0, 10.0, 0.1])),
            jitter=draw(st.sampled_from(Jitter)),
            retry_on=draw(st.sampled_from([(), ("OSError",)])),
            give_up_on=draw(st.sampled_from([(), ("KeyError", "ValueError")])),
        ),
        run_deadline_s=draw(st.none() | st.integers(1, 100)),
        overlap=draw(st.sampled_from(Overlap)),
        catch_up=draw(catch_ups),
        name=draw(st.sampled_from([None, "nightly"])),
        owner=draw(st.sampled_from([None, "data team"])),
        description=draw(st.sampled_from([None, ""])),
        tags=draw(st.sampled_from([(), ("a", "b")])),
    )
    return Definition(
        job_id=draw(job_ids),
        version=draw(st.integers(1, 3)),
        tenant_id=TENANT,
        created_at=NOW,
        spec=spec,
        named_before=draw(st.sampled_from([(), (("/payload/ü", 2), ("/payload/a~1b", 1))])),
    )


@st.composite
def advances(draw: st.DrawFn, old: Head) -> Advance:
    """The decision on the head's tick, from what was seen or from something a little different."""
    next_run_at = draw(st.sampled_from([None, Instant(LATER + 120_000)]))
    fire = draw(st.sampled_from([None, LATER, Instant(LATER + 60_000)]))
    pins_active = draw(st.booleans())
    takes_active = draw(occupants) if pins_active else None
    return Advance(
        job_id=old.job_id,
        tick=LATER,
        version=draw(mostly(old.version, 2)),
        definition_version=draw(st.integers(1, 3)),
        seen_fired_through=draw(mostly(old.fired_through, NOW, None)),
        seen_active=draw(mostly(old.active, "20261201T000000000Z@1", None)),
        next_run_at=next_run_at,
        tzdata=draw(st.sampled_from(["2026.2", "2026.3"])),
        fire=fire,
        verdict=None if fire is None else draw(verdicts),
        fired_at=draw(instants),
        takes_active=takes_active,
        pins_active=pins_active,
        passed_through=draw(st.none() | instants),
        ends=next_run_at is None,
    )


@st.composite
def rewrites(draw: st.DrawFn, old: Head) -> Rewrite:
    """An API write of the head, at the version that was seen or at another."""
    other = draw(heads())
    seen_version = draw(mostly(old.version, 2))
    new = replace(
        other,
        job_id=old.job_id,
        version=seen_version + 1,
        write_token=draw(st.sampled_from(["token-a", "token-c"])),
        tzdata=other.tzdata or "2026.2",  # what the API makes due it has aimed by some rules
    )
    return Rewrite(
        new=new,
        seen_version=seen_version,
        seen_next_run_at=draw(mostly(old.next_run_at, NOW, None)),
        pins_decision=draw(st.booleans()),
    )


@st.composite
def head_changes(draw: st.DrawFn) -> tuple[Head | None, Any]:
    """A stored head, or none, and a change of it."""
    old = draw(heads())
    occupies = st.builds(
        Occupy,
        job_id=st.just(old.job_id),
        version=mostly(old.version, 2),
        seen_active=mostly(old.active, None, "20261201T000000000Z@1"),
        active=st.sampled_from(["20261201T000000000Z@2", "20261202T000000000Z@1"]),
    )
    reopens = st.builds(
        Reopen,
        job_id=st.just(old.job_id),
        version=mostly(old.version, 2),
        seen_active=mostly(old.active, None, "20261201T000000000Z@1"),
        active=st.sampled_from([None, "20261201T000000000Z@2"]),
        seen_reopened=mostly(old.reopened, None, Reopened(since=NOW, until=NOW)),
        reopened=st.just(Reopened(since=Instant(TICK - 1), until=LATER)),
    )
    puts = st.just(PutHead(head=replace(old, version=1, write_token="token-a")))
    change = draw(st.one_of(advances(old), advances(old), rewrites(old), occupies, reopens, puts))
    return (old if draw(st.integers(0, 9)) else None), change


@st.composite
def definition_changes(draw: st.DrawFn) -> tuple[Definition | None, Any]:
    """A definition where there is none, an equal one or another."""
    definition = draw(definitions())
    other = replace(definition, created_at=Instant(NOW + 1))
    return draw(st.sampled_from([None, definition, other])), PutDefinition(definition=definition)


@st.composite
def lease_changes(draw: st.DrawFn) -> tuple[BucketLease | None, Any]:
    """A bucket's record, or none, and a try to take, keep or give up the bucket."""
    old = BucketLease(
        bucket=draw(st.integers(0, 10**12)),
        owner=draw(st.sampled_from([None, "loop-1", "loop-2"])),
        lease_epoch=Epoch(draw(st.integers(1, 3))),
        rvn=draw(st.sampled_from(["rvn-a", "rvn-b"])),
        drained=draw(st.booleans()),
        tzdata=draw(st.sampled_from(["", "2026.2"])),
        epoch_base=Epoch(draw(st.sampled_from([0, 50_000]))),
    )
    takes = st.builds(
        TakeBucket,
        bucket=st.just(old.bucket),
        owner=st.just("loop-3"),
        rvn=st.sampled_from(["rvn-a", "rvn-c"]),
        seen_rvn=st.sampled_from([None, "rvn-a", "rvn-b"]),
        epoch_base=st.sampled_from([Epoch(0), Epoch(50_000)]),
    )
    renews = st.builds(
        RenewBucket,
        bucket=st.just(old.bucket),
        holder=st.sampled_from(["loop-1", "loop-2"]),
        epoch=mostly(old.lease_epoch, Epoch(2)),
        rvn=st.sampled_from(["rvn-a", "rvn-c"]),
        tzdata=st.sampled_from(["2026.2", "2026.3"]),
        give_up=st.booleans(),
        drained=st.booleans(),
    )
    return draw(st.sampled_from([old, old, old, None])), draw(takes | renews)


@st.composite
def idempotency_changes(draw: st.DrawFn) -> tuple[IdempotencyRecord | None, Any]:
    """A request whose key was used before or not, some time ago or not, by itself or by another."""
    record = IdempotencyRecord(
        tenant_id=TENANT,
        key=draw(job_ids),
        body_hash="5" * 64,
        job_id=draw(job_ids),
        answer="{}",
        expires_at=LATER,
        token="token-a",
        kept_until=draw(st.none() | st.just(Instant(LATER + 1))),
    )
    old = replace(record, expires_at=draw(instants), token=draw(st.sampled_from(["token-a", "token-b"])))
    return draw(st.sampled_from([None, old, old])), PutIdempotency(record=record, now=NOW)


@st.composite
def name_changes(draw: st.DrawFn) -> tuple[NameRecord | None, Any]:
    """A name that is free, given up, this job's or another's."""
    record = NameRecord(tenant_id=TENANT, name=draw(job_ids), job_id=draw(job_ids), released=draw(st.booleans()))
    old = replace(record, job_id=draw(st.sampled_from([record.job_id, draw(job_ids)])), released=draw(st.booleans()))
    return draw(st.sampled_from([None, old, old])), PutName(record=record)


@st.composite
def rotation_changes(draw: st.DrawFn) -> tuple[Rotation | None, Any]:
    """A rotation from what was seen, from something else, or where there was none."""
    rotation = Rotation(tenant_id=TENANT, number=draw(st.integers(2, 4)), rotated_at=draw(instants))
    old = Rotation(tenant_id=TENANT, number=draw(st.integers(2, 4)), rotated_at=draw(instants))
    return draw(st.sampled_from([None, old, old])), PutRotation(rotation=rotation)


@st.composite
def pool_changes(draw: st.DrawFn) -> tuple[Pool | None, Any]:
    """A pool that is new, or put over what was seen, or over something else."""
    pool = Pool(
        tenant_id=TENANT,
        name=PoolName(draw(job_ids)),
        description=draw(st.sampled_from([None, "cards"])),
        created_at=NOW,
        version=draw(st.integers(1, 3)),
        deleted_at=draw(st.sampled_from([None, NOW])),
    )
    old = replace(pool, description=draw(st.sampled_from([None, "cards"])), version=draw(st.integers(1, 3)))
    return draw(st.sampled_from([None, old, old])), PutPool(pool=pool)


@st.composite
def seat_changes(draw: st.DrawFn) -> tuple[Seat | None, Any]:
    """A seat that nobody has had, that is over, is not or never can be, one's own or another's; taken or left."""
    seat = Seat(tenant_id=TENANT, number=draw(st.integers(0, 99)), token="token-a", until=draw(instants))
    ends = instants | st.sampled_from([furthest_end(NOW, 1_000), furthest_end(NOW, 1_001)])
    old = replace(seat, token=draw(st.sampled_from(["token-a", "token-b"])), until=draw(ends))
    return draw(st.sampled_from([None, old, old])), PutSeat(seat=seat, now=NOW, clock_error_ms=1_000)


@st.composite
def calendar_changes(draw: st.DrawFn) -> tuple[Calendar | None, Any]:
    """A calendar that is new, or put over what was seen; by itself before, or after another, or where there is none."""
    calendar = a_calendar(name=draw(job_ids), version=draw(st.integers(1, 3)), write_token="token-a")
    old = replace(calendar, retired=draw(st.booleans()), write_token=draw(st.sampled_from(["token-a", "token-b"])))
    change = PutCalendar(calendar=calendar, seen_token=draw(st.sampled_from([None, "token-b", "token-c"])))
    return draw(st.sampled_from([None, old, old])), change
