"""Is what was written read back at once and exactly, and is what is absent never anything but None?"""

from dataclasses import replace

import pytest

from tests.contract.store.cases_of_jobs import bring
from tests.contract.store.cases_of_pools import POOL, SEAT
from tests.support.builders import (
    JOB,
    TENANT,
    TICK,
    a_calendar,
    a_definition,
    a_head,
    a_job_id,
    a_manual_key,
    a_name_record,
    a_ref,
    an_api_key,
    an_execution,
    an_idempotency_record,
)
from tickwright.domain.changes.calendars import PutCalendar, PutCalendarVersion
from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import PutHead, Rewrite
from tickwright.domain.executions import Execution
from tickwright.domain.ids import TenantId, missed_key, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.pools import PoolName
from tickwright.domain.schedules import CalendarContent, CalendarKind, Window
from tickwright.domain.tenants import PutIdempotency, PutName, Scope
from tickwright.domain.transitions import State
from tickwright.ports.store import Applied, Store

OTHER_TENANT = TenantId("globex")
MORE_THAN_A_PAGE = 130


async def test_what_is_absent_is_none(store: Store) -> None:
    """No item is an answer of its own, for every kind of item."""
    assert await store.head(JOB) is None
    assert await store.execution(a_ref()) is None
    assert await store.definition(JOB, 1) is None
    assert await store.lease(0) is None
    assert await store.idempotency(TENANT, "POST /v1/jobs x") is None
    assert await store.named(TENANT, "nightly") is None
    assert await store.api_key("0" * 64) is None


async def test_of_many_items_those_that_exist_are_read(store: Store) -> None:
    """More than one request holds, every second of them absent."""
    executions = [an_execution(job_id=a_job_id(number)) for number in range(0, 2 * MORE_THAN_A_PAGE, 2)]
    heads = [a_head(job_id=execution.job_id) for execution in executions]
    await store.write_each([Insert(execution=execution) for execution in executions])
    await store.write_each([PutHead(head=head) for head in heads])
    asked = [a_job_id(number) for number in range(2 * MORE_THAN_A_PAGE)]

    assert await store.executions([a_ref(number) for number in range(2 * MORE_THAN_A_PAGE)]) == {
        execution.ref: execution for execution in executions
    }
    assert await store.heads(asked) == {head.job_id: head for head in heads}


async def test_an_item_that_is_asked_for_twice_is_read_once(store: Store) -> None:
    """Two entries of a page may name the same job, and the same execution."""
    head, execution = a_head(), an_execution()
    await bring(store, head)
    await bring(store, execution)

    assert await store.heads([JOB, JOB]) == {JOB: head}
    assert await store.executions([execution.ref, execution.ref]) == {execution.ref: execution}
    assert await store.heads([]) == {}
    assert await store.executions([]) == {}


@pytest.mark.sem("SEM-STORE-4")
async def test_a_read_shows_the_write_before_it(store: Store) -> None:
    """Fifty versions of a head, each read as soon as its write is answered."""
    head = a_head()
    await bring(store, head)
    seen = []

    for version in range(1, 51):
        new = replace(head, version=version + 1, write_token=f"token-{version}")
        await store.write(Rewrite(new=new, seen_version=version, seen_next_run_at=head.next_run_at, pins_decision=True))
        seen.append((await store.head(JOB), (await store.heads([JOB]))[JOB]))

    assert seen == [(expected, expected) for expected in _versions(head, 50)]


def _versions(head: Head, count: int) -> list[Head]:
    return [replace(head, version=version + 1, write_token=f"token-{version}") for version in range(1, count + 1)]


async def test_versions_of_a_job_stand_beside_each_other(store: Store) -> None:
    """A definition is found by its version, and only by it."""
    first, second = a_definition(), a_definition(version=2, created_at=TICK)
    await bring(store, first)
    await bring(store, second)

    assert await store.definition(JOB, 1) == first
    assert await store.definition(JOB, 2) == second
    assert await store.definition(JOB, 3) is None


async def test_a_definition_comes_back_with_its_nulls_numbers_and_letters(store: Store) -> None:
    """What a tenant wrote is kept as it was written: null is not absence, 2.5 not 2, and any letter is a letter."""
    given = {"empty": None, "whole": 3, "part": 2.5, "list": [1, None, {"ü": "☃ 🎉"}], "yes": True, "text": ""}
    base = a_definition()
    definition = replace(
        base,
        spec=replace(base.spec, source=given, target=replace(base.spec.target, settings=given), payload='{"ü": 1}'),
        named_before=(("/payload/ü", 1), ("/payload/a~1b", 3)),
    )

    await bring(store, definition)

    read = await store.definition(JOB, 1)
    assert read == definition
    assert read is not None
    assert {key: type(value) for key, value in read.spec.source.items()} == {
        key: type(value) for key, value in given.items()
    }


async def test_a_jobs_executions_come_newest_key_first(store: Store) -> None:
    """Ticks, runs by hand and rows of missed ticks in one order, that of their time."""
    keys = [
        tick_key(Instant(TICK + 60_000)),
        a_manual_key(1, TICK + 30_000),
        missed_key(TICK),
        a_manual_key(2),
        tick_key(TICK),
        tick_key(Instant(TICK - 60_000)),
    ]
    executions = [an_execution(key=key) for key in keys]
    await store.write_each([Insert(execution=execution) for execution in reversed(executions)])
    await bring(store, an_execution(job_id=a_job_id(1)))

    listing = await store.executions_of(JOB, limit=10)

    assert list(listing.items) == executions
    assert listing.next_key is None


async def test_a_jobs_executions_end_at_since(store: Store) -> None:
    """Inclusive: a tick at that instant belongs to it, one a millisecond earlier does not."""
    inside = [an_execution(key=a_manual_key(1)), an_execution()]
    outside = an_execution(scheduled_at=Instant(TICK - 1))
    await store.write_each([Insert(execution=execution) for execution in (*inside, outside)])

    listing = await store.executions_of(JOB, limit=10, since=TICK)

    assert list(listing.items) == inside


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
async def test_a_list_is_read_to_its_exact_end_by_pages(store: Store, limit: int) -> None:
    """Whatever the size of a page, each of seven executions is read once and the last page has no next."""
    executions = [an_execution(scheduled_at=Instant(TICK - 1_000 * number)) for number in range(7)]
    await store.write_each([Insert(execution=execution) for execution in executions])
    read: list[Execution] = []
    after_key, rounds = None, 0

    while rounds == 0 or after_key is not None:
        listing = await store.executions_of(JOB, limit=limit, after_key=after_key)
        assert len(listing.items) <= limit
        read += listing.items
        after_key = listing.next_key
        rounds += 1

    assert read == executions


async def test_a_page_goes_on_where_it_ended_whatever_was_inserted_meanwhile(store: Store) -> None:
    """A newer execution appears at the head of the list, not in the middle of the walk."""
    executions = [an_execution(scheduled_at=Instant(TICK - 1_000 * number)) for number in range(4)]
    await store.write_each([Insert(execution=execution) for execution in executions])
    first = await store.executions_of(JOB, limit=2)
    await bring(store, an_execution(scheduled_at=Instant(TICK + 1_000)))

    second = await store.executions_of(JOB, limit=2, after_key=first.next_key)

    assert [*first.items, *second.items] == executions


async def test_a_tenants_api_keys_are_listed_by_their_hash(store: Store) -> None:
    """Page by page; a key that was replaced is one key, as it is now, and another tenant's are not among them."""
    mine = [an_api_key(key_hash=f"{number:064x}") for number in (3, 1, 2)]
    theirs = an_api_key(key_hash=f"{9:064x}", tenant_id=OTHER_TENANT)
    for key in (*mine, theirs):
        await store.put_api_key(key)
    ended = replace(mine[1], expires_at=TICK)
    await store.put_api_key(ended)

    first = await store.api_keys_of(TENANT, limit=2)
    second = await store.api_keys_of(TENANT, limit=2, after_key=first.next_key)

    assert [*first.items, *second.items] == [ended, mine[2], mine[0]]
    assert (len(first.items), second.next_key) == (2, None)
    assert (await store.api_keys_of(OTHER_TENANT, limit=2)).items == [theirs]
    assert (await store.api_keys_of(TenantId("nobody"), limit=2)).items == []


async def test_an_api_key_is_read_by_its_hash_and_may_be_replaced(store: Store) -> None:
    """The newest wins; its scopes are a set."""
    key = an_api_key()
    await store.put_api_key(key)
    newer = replace(key, scopes=frozenset({Scope.ADMIN}), expires_at=TICK)

    await store.put_api_key(newer)

    assert await store.api_key(key.key_hash) == newer
    assert await store.api_key("b" * 64) is None


async def test_a_request_is_noted_within_its_tenant(store: Store) -> None:
    """The same key of two tenants is two requests, and one that has expired is still read: the record says when."""
    mine = an_idempotency_record(expires_at=Instant(TICK - 1))
    other = replace(mine, tenant_id=OTHER_TENANT, token="other")
    outcomes = [await store.write(PutIdempotency(record=record, now=Instant(0))) for record in (mine, other)]

    assert outcomes == [Applied(mine), Applied(other)]
    assert await store.idempotency(TENANT, mine.key) == mine
    assert await store.idempotency(OTHER_TENANT, mine.key) == other


async def test_an_execution_of_every_state_is_read_back_as_it_was_put(store: Store) -> None:
    """Nine states, each with all that it demands."""
    executions = {
        state: an_execution(job_id=a_job_id(number), state=state, result="{}" if state is State.SUCCEEDED else None)
        for number, state in enumerate(State)
    }
    await store.write_each([Insert(execution=execution) for execution in executions.values()])

    assert {state: await store.execution(execution.ref) for state, execution in executions.items()} == executions


@pytest.mark.sem("SEM-CAL-4")
async def test_a_calendar_is_read_as_it_stands_and_as_each_version_was(store: Store) -> None:
    """Every member comes back; another tenant's of the same name is another."""
    first = a_calendar(
        content=CalendarContent(
            kind=CalendarKind.INCLUDE,
            timezone="Europe/Berlin",
            days=("--02-29", "2026-12-24/2027-01-02"),
            weekdays=("mon",),
            windows=(Window(Instant(TICK), Instant(TICK + 1)),),
            description='Größe und\n"Zeichen"',
        )
    )
    second = a_calendar(version=2, retired=True, write_token="second")
    await store.write_together([PutCalendar(calendar=first), PutCalendarVersion(calendar=first)])
    await store.write_together(
        [PutCalendar(calendar=second, seen_token=first.write_token), PutCalendarVersion(calendar=second)]
    )

    assert await store.calendars(TENANT, ["holidays", "absent", "holidays"]) == {"holidays": second}
    assert await store.calendar_versions(TENANT, "holidays", [1, 2, 3]) == {1: first, 2: second}
    assert await store.calendars(OTHER_TENANT, ["holidays"]) == {}


@pytest.mark.sem("SEM-CAL-4")
async def test_a_tenants_calendars_are_listed_by_name(store: Store) -> None:
    """Page by page, each once, without their versions and without other tenants'; a name may begin another's."""
    names = ["a", "a-b", "a.b", "b", "holidays"]
    for name in reversed(names):
        await store.write(PutCalendar(calendar=a_calendar(name=name)))
        await store.write(PutCalendarVersion(calendar=a_calendar(name=name)))
    await store.write(PutCalendar(calendar=a_calendar(tenant_id=OTHER_TENANT, name="c")))
    await store.write(PutName(record=a_name_record()))

    found: list[str] = []
    after_key: str | None = None
    for _ in range(len(names)):
        page = await store.calendars_of(TENANT, limit=2, after_key=after_key)
        found += [calendar.name for calendar in page.items]
        after_key = page.next_key
        if after_key is None:
            break

    assert found == names
    assert after_key is None
    assert [one.name for one in (await store.calendars_of(OTHER_TENANT, limit=9)).items] == ["c"]


@pytest.mark.sem("SEM-POOL-1")
async def test_a_tenants_pools_are_read_and_listed_by_name(store: Store) -> None:
    """Page by page, each once, its own alone; what was never put is None."""
    names = ["arm", "cpu", "gpu"]
    for name in reversed(names):
        await bring(store, replace(POOL, name=PoolName(name)))
    await bring(store, replace(POOL, tenant_id=OTHER_TENANT, name=PoolName("bit")))

    first = await store.pools_of(TENANT, limit=2)
    second = await store.pools_of(TENANT, limit=2, after_key=first.next_key)

    assert [pool.name for page in (first, second) for pool in page.items] == names
    assert second.next_key is None
    assert await store.pool(TENANT, "cpu") == replace(POOL, name=PoolName("cpu"))
    assert await store.pool(TENANT, "bit") is None


@pytest.mark.sem("SEM-POOL-5")
async def test_a_tenants_seats_are_read_by_number(store: Store) -> None:
    """Its own alone, and nothing else of what is kept beside them."""
    await bring(store, POOL)
    for number in (11, 2, 99):
        await bring(store, replace(SEAT, number=number))
    await bring(store, replace(SEAT, tenant_id=OTHER_TENANT, number=3))

    assert await store.seats_of(TENANT) == [replace(SEAT, number=number) for number in (2, 11, 99)]
