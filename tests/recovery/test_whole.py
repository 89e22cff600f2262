"""What an operator asks of a whole store: every item once, page by page, and nothing forgotten but what is meant."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from tests.recovery.places import Installations, Place
from tests.recovery.test_deletion import OTHER, submitted
from tests.support.builders import TENANT
from tests.support.steps import HOUR, MINUTE
from tickwright.api.keys import make_key
from tickwright.domain.deletions import CallOff, Deletion, PutDeletion
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.tenants import ApiKey, Scope
from tickwright.ports.store import Listing
from tickwright.ports.whole import Scanned, Sign
from tickwright.services.keys import key_id, revoke_key
from tickwright.services.kit import Kit
from tickwright.services.pools import put_pool

ItemT = TypeVar("ItemT")
JOBS = 7
HISTORY = (
    Deletion(tenant_id=TENANT, asked_at=Instant(1)),
    Deletion(tenant_id=TENANT, asked_at=Instant(1), still_at=Instant(2)),
    Deletion(tenant_id=TENANT, asked_at=Instant(1), still_at=Instant(3)),
    Deletion(tenant_id=TENANT, asked_at=Instant(1), still_at=Instant(3), removes_at=Instant(4), ended_at=Instant(5)),
    Deletion(tenant_id=TENANT, asked_at=Instant(6)),
)


async def with_jobs(place: Place) -> None:
    """Several of two tenants, each with a run and one more to come."""
    for number in range(JOBS):
        tenant_id = OTHER if number % 2 else TENANT
        every_hour = {"every": "PT1H", "startAt": place.world.text(MINUTE), "endAt": place.world.text(2 * HOUR)}
        await submitted(place, tenant_id, schedule=every_hour, name=f"job-{number}")
    await place.play(70)


async def paged(read: Callable[[str | None], Awaitable[Listing[ItemT] | Scanned[ItemT]]]) -> list[ItemT]:
    """All pages of a list."""
    found, after_key = list[ItemT](), None
    while True:
        page = await read(after_key)
        found += page.items
        if (after_key := page.next_key) is None:
            return found


async def test_every_head_and_execution_is_shown_once(installations: Installations) -> None:
    """In pages of two, whatever else lies in the tables."""
    place = installations.first
    await with_jobs(place)

    heads = await paged(lambda after_key: place.whole.every_head_eventually(limit=2, after_key=after_key))
    rows = await paged(lambda after_key: place.whole.every_execution_eventually(limit=2, after_key=after_key))

    assert len({head.job_id for head in heads}) == len(heads) == JOBS
    assert len({row.ref for row in rows}) == len(rows) == JOBS
    assert {row.job_id for row in rows} == {head.job_id for head in heads}


async def test_what_is_kept_of_a_tenant_is_shown_alone(installations: Installations) -> None:
    """In pages of two rows of all tenants."""
    whole = installations.first.whole
    await with_jobs(installations.first)

    jobs = await paged(lambda after_key: whole.jobs_kept_of_eventually(TENANT, limit=2, after_key=after_key))
    refs = await paged(lambda after_key: whole.executions_kept_of_eventually(TENANT, limit=2, after_key=after_key))

    rows = [row for row in await installations.first.rows() if row.tenant_id == TENANT]
    assert set(jobs) == {row.job_id for row in rows}
    assert sorted(refs) == [row.ref for row in rows]


async def test_every_tenant_is_shown_that_has_a_record(installations: Installations) -> None:
    """One with jobs, one with a key alone, one with a pool alone; of one that was deleted, that alone."""
    place = installations.first
    await with_jobs(place)
    kit = place.world.kit
    _, key = await made_of_all(kit, TenantId("keys-alone"))
    await put_pool(kit, TenantId("pools-alone"), "gpu", None)
    gone = replace(HISTORY[3], tenant_id=TenantId("deleted"))
    await place.whole.put_deletion(PutDeletion(deletion=HISTORY[0], seen=None))
    await place.whole.put_deletion(PutDeletion(deletion=replace(gone, ended_at=None), seen=None))
    await place.whole.put_deletion(PutDeletion(deletion=gone, seen=replace(gone, ended_at=None)))

    found = await paged(lambda after_key: place.whole.every_sign_eventually(limit=2, after_key=after_key))

    plain = {sign.tenant_id for sign in found if sign.key is None and sign.deletion is None}
    assert plain - {"keys-alone"} == {TENANT, OTHER, "pools-alone"}
    assert [sign.key for sign in found if sign.key is not None] == [key]
    assert [sign for sign in found if sign.tenant_id == "deleted"] == [Sign(tenant_id=gone.tenant_id, deletion=gone)]
    assert HISTORY[0] in [sign.deletion for sign in found]


async def test_every_key_is_shown_once(installations: Installations) -> None:
    """In pages of two records, as it was made or revoked."""
    place = installations.first
    await with_jobs(place)
    kit = place.world.kit
    made = [(await made_of_all(kit, tenant_id))[1] for tenant_id in (TENANT, OTHER, TENANT)]
    await revoke_key(kit, TENANT, key_id(made[2]))

    found = await paged(lambda after_key: place.whole.every_api_key_eventually(limit=2, after_key=after_key))

    assert sorted(one.key_hash for one in found) == sorted(one.key_hash for one in made)
    assert [one for one in found if not one.revoked] == [one for one in found if one in made[:2]]


async def made_of_all(kit: Kit, tenant_id: TenantId) -> tuple[str, ApiKey]:
    """A key that has everything that a key may have."""
    return await make_key(
        kit, tenant_id, scopes=frozenset(Scope), label="its own", expires_at=Instant(2**45), made_by="arn:x"
    )


async def test_only_what_is_named_is_forgotten_and_twice_is_no_error(installations: Installations) -> None:
    """A row, a job with its versions, and the records of one tenant, a few at a time."""
    place = installations.first
    await with_jobs(place)
    row, kit = (await place.rows())[0], place.world.kit

    for _ in range(2):
        await place.whole.forget_executions([row.ref])
        await place.whole.forget_job(row.tenant_id, row.job_id)
    counts = list[int]()
    while counts[-1:] != [0]:
        counts.append(await place.whole.forget_records(TENANT, limit=3))

    assert len(await place.rows()) == JOBS - 1
    assert await kit.store.head(row.job_id) is None
    assert counts == [3, 3, 2, 0]  # of four jobs a name and a request each
    assert await kit.store.named(TENANT, "job-0") is None
    assert await kit.store.named(OTHER, "job-1") is not None


async def test_a_deletion_is_read_back_as_it_was_written(installations: Installations) -> None:
    """And outlives the records of its tenant."""
    whole = installations.first.whole
    seen: Deletion | None = None

    for deletion in HISTORY:
        assert await whole.put_deletion(PutDeletion(deletion=deletion, seen=seen))
        assert await whole.forget_records(TENANT, limit=10) == 0
        assert await whole.deletion(TENANT) == deletion
        seen = deletion
    assert await whole.deletion(OTHER) is None


@pytest.mark.sem("SEM-TENANT-2")
async def test_a_deletion_is_noted_over_what_was_seen_alone(installations: Installations) -> None:
    """At each point of its history, whoever has seen another is refused; and who repeats what stands is told so."""
    whole = installations.first.whole
    for now in range(len(HISTORY)):
        await whole.put_deletion(PutDeletion(deletion=HISTORY[now], seen=HISTORY[now - 1] if now else None))
        for seen, new in zip((None, *HISTORY), HISTORY, strict=False):
            if seen != HISTORY[now]:
                stands = await whole.put_deletion(PutDeletion(deletion=replace(new, removes_at=Instant(7)), seen=seen))
                assert (seen, new, stands) == (seen, new, False)
        assert await whole.deletion(TENANT) == HISTORY[now]


@pytest.mark.sem("SEM-TENANT-2")
async def test_a_deletion_is_called_off_as_long_as_no_row_has_gone(installations: Installations) -> None:
    """The one that was seen, whatever its rest is by now; whoever repeats it is told that there is none."""
    whole = installations.first.whole
    came, seen = list[tuple[bool, bool]](), None
    for now in HISTORY:
        await whole.put_deletion(PutDeletion(deletion=now, seen=seen))
        refused = await whole.call_off(CallOff(seen=replace(now, asked_at=Instant(99))))
        called_off = await whole.call_off(CallOff(seen=replace(now, still_at=None)))
        came.append((refused, called_off))
        if called_off:
            assert await whole.deletion(TENANT) is None
            assert await whole.call_off(CallOff(seen=now))
            await whole.put_deletion(PutDeletion(deletion=now, seen=None))
        seen = now

    assert came == [(False, now.ended_at is None) for now in HISTORY]
