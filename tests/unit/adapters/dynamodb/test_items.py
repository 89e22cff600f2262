"""Do entities survive the way into an item and back, in few enough bytes?"""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from tests.contract.aws_strategies import any_execution
from tests.contract.aws_strategies_jobs import definitions, heads
from tests.support.builders import (
    JOB,
    TICK,
    a_definition,
    a_head,
    a_page,
    an_api_key,
    an_execution,
    an_id,
    an_idempotency_record,
)
from tickwright.adapters.dynamodb.items import control, executions, jobs, journal
from tickwright.adapters.dynamodb.wire import Item, Value
from tickwright.domain import limits
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import JobId, TenantId, WorkerId, manual_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Aimed, CatchUp, CatchUpMode, Definition, FiredAs, Head, Verdict
from tickwright.domain.journal import Entry, Page
from tickwright.domain.lanes import Lane
from tickwright.domain.transitions import State

KILOBYTE = 1_024
END_OF_TIME = Instant(253_402_300_799_999)  # the last instant that has a written form


def size_of(item: Item) -> int:
    """An item's bytes as DynamoDB counts them: names and values; a map or list is 3 more, and 1 for each member."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(value: Value) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return len(held) // 2 + 2
        case "BOOL":
            return 1
        case "SS":
            return sum(len(member.encode()) for member in held)
        case "L":
            return 3 + sum(1 + _size(member) for member in held)
        case _:
            return 3 + len(held) + size_of(held)


@given(any_execution)
def test_an_execution_is_read_back_as_it_was_written(execution: Execution) -> None:
    """In any state, with every field or with the fewest."""
    assert executions.from_item(executions.to_item(execution)) == execution


@given(heads())
def test_a_head_is_read_back_as_it_was_written(head: Head) -> None:
    """Due or not, fired or not."""
    assert jobs.head_from_item(jobs.head_to_item(head)) == head


@given(definitions())
def test_a_definition_is_read_back_as_it_was_written(definition: Definition) -> None:
    """Its document holds all of the specification."""
    assert jobs.definition_from_item(jobs.definition_to_item(definition)) == definition


def test_what_is_absent_is_no_attribute() -> None:
    """No null, no empty set: a condition can tell by the attribute alone."""
    item = executions.to_item(an_execution())

    assert not {"retryAt", "leaseUntil", "waitKey", "waitAt", "failedAt", "owed", "effects", "ttl"} & item.keys()


def test_a_head_is_in_the_due_index_only_while_it_is_due() -> None:
    """The sparse index lives by the absence of both keys."""
    ended = replace(a_head(), next_run_at=None, bucket=None)

    assert {"bucket", "nextRunAt"} <= jobs.head_to_item(a_head(bucket=17, lane=Lane.HIGH)).keys()
    assert jobs.head_to_item(a_head(bucket=17, lane=Lane.HIGH))["bucket"] == {"S": "017#high"}
    assert not {"bucket", "nextRunAt"} & jobs.head_to_item(ended).keys()


def test_the_largest_head_stays_under_a_kilobyte() -> None:
    """Every field at its longest: a tick is charged for the whole of it, three times."""
    tick = Instant(END_OF_TIME - 1)
    head = Head(
        job_id=JobId(an_id()),
        tenant_id=TenantId(an_id()),
        status=a_head().status,
        version=10**6,
        definition_version=10**6,
        lane=Lane.BACKFILL,
        schedule="x" * limits.SCHEDULE_BYTES_MAX,
        overlap=a_head().overlap,
        catch_up=CatchUp(
            mode=CatchUpMode.LATEST,
            window_s=limits.CATCHUP_WINDOW_S_MAX,
            on_resume=True,
            max_runs=1_000,
            rate_per_min=240,
        ),
        max_attempts=limits.ATTEMPTS_MAX,
        created_at=tick,
        listed_as="n" * limits.NAME_CHARS_MAX,
        run_deadline_s=limits.RUN_DEADLINE_S_MAX,
        bucket=limits.BUCKETS_MAX - 1,
        next_run_at=END_OF_TIME,
        fired_through=tick,
        fired_version=10**6,
        fired_at=tick,
        fired_as=Verdict(fired_as=FiredAs.SKIP, reason=Reason.UPSTREAM_FAILED),
        passed_through=tick,
        runs=10**9,
        active=f"{manual_key(tick, an_id())}@100",
        pending_version=10**6,
        effective_from=END_OF_TIME,
        settled_through=tick,
        tzdata="2026.3.1",
        aimed_from=Aimed(was=tick, tzdata="2026.2.1"),
        write_token=an_id(),
    )

    assert size_of(jobs.head_to_item(head)) <= KILOBYTE


def test_a_plain_execution_stays_under_a_kilobyte_at_each_step() -> None:
    """So that insert, claim and completion are one write unit each."""
    running = replace(
        an_execution(state=State.RUNNING),
        run_deadline_at=END_OF_TIME,
        lease_owner=WorkerId("w" * 64),
        result="r" * 100,
    )

    assert size_of(executions.to_item(running)) < KILOBYTE


def test_an_entry_of_a_page_takes_about_sixty_bytes() -> None:
    """A full page of plain ticks is six write units for a hundred executions."""
    entries = tuple(Entry(job_id=JOB, key=an_execution().key, version=1) for _ in range(limits.PAGE_ENTRIES_MAX))

    assert size_of(journal.page_to_item(a_page(entries=entries))) <= 6 * KILOBYTE


@pytest.mark.parametrize("key", [an_execution().key, manual_key(TICK, an_id(5))], ids=["tick", "manual"])
def test_a_page_is_read_back_as_it_was_written(key: str) -> None:
    """Ticks and manual runs."""
    page: Page = a_page(entries=(Entry(job_id=JOB, key=key, version=3),), looks=4)  # type: ignore[arg-type]

    assert journal.page_from_item(journal.page_to_item(page)) == page


def test_pages_sort_by_the_instant_of_their_check() -> None:
    """Fixed width: a page of the year 33658 is not before one of today."""
    sorts = [
        journal.page_to_item(a_page(check_at=Instant(at)))["page"]["S"] for at in (9, 10, TICK, 10**14, END_OF_TIME)
    ]

    assert sorts == sorted(sorts)


def test_an_idempotency_record_is_never_forgotten_before_its_end() -> None:
    """Seconds are rounded up; DynamoDB is late anyway."""
    record = an_idempotency_record(expires_at=Instant(1_001))

    assert control.idempotency_to_item(record)["ttl"] == {"N": "2"}
    kept = replace(record, kept_until=Instant(9_001))
    assert control.idempotency_to_item(kept)["ttl"] == {"N": "10"}
    assert control.idempotency_from_item(control.idempotency_to_item(kept)) == kept
    assert control.idempotency_from_item(control.idempotency_to_item(record)) == record


@pytest.mark.parametrize("revoked", [False, True])
def test_an_api_key_is_read_back_as_over_or_not(*, revoked: bool) -> None:
    """One that was written before there was a word for it is not."""
    api_key = an_api_key(revoked=revoked)

    assert control.api_key_from_item(control.api_key_to_item(api_key)) == api_key
    assert ("revoked" in control.api_key_to_item(api_key)) is revoked


def test_an_api_key_without_scopes_is_read_back() -> None:
    """An empty set is an absent attribute, and comes back as an empty set."""
    api_key = an_api_key(scopes=frozenset())

    assert control.api_key_from_item(control.api_key_to_item(api_key)) == api_key


def test_a_payload_of_quotes_fits_beside_its_definition() -> None:
    """Quoted inside the document it would be twice as long, and past the 400 KB of an item."""
    payload = json.dumps(['"'] * ((limits.PAYLOAD_BYTES_MAX - 2) // 6))
    definition = a_definition()
    definition = replace(definition, spec=replace(definition.spec, payload=payload))

    assert size_of(jobs.definition_to_item(definition)) < 400 * KILOBYTE
