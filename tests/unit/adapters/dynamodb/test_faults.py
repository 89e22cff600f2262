"""What the store makes of throttles, conflicts, lost replies and partial answers: no engine gives them at will."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tests.support.builders import (
    JOB,
    TICK,
    WORKER,
    a_definition,
    a_head,
    a_job_id,
    a_name_record,
    an_execution,
    an_id,
)
from tests.unit.adapters.scripted import Answer, CountingEntropy, QuickClock, ScriptedClient, error, timeout
from tickwright.adapters.aws.patience import Patience
from tickwright.adapters.dynamodb import wire
from tickwright.adapters.dynamodb.engine import Options
from tickwright.adapters.dynamodb.items import control, executions, jobs
from tickwright.adapters.dynamodb.meter import CapacityMeter
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import TableNames
from tickwright.domain.changes.executions import Claim, Insert
from tickwright.domain.changes.heads import Occupy, PutDefinition, PutHead
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.tenants import PutName
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreBusy, StoreUnavailable
from tickwright.ports.store import AnyChange, Applied, Refused, Unknown

TABLES = TableNames(jobs="jobs", executions="executions", journal="journal", control="control")


def applied(change: Claim, old: Execution) -> Execution:
    new = change.decide(old)
    assert new is not None
    return new


QUEUED = an_execution()
CLAIM = Claim(
    ref=QUEUED.ref,
    worker=WORKER,
    token=an_id(7),
    now=Instant(TICK + 1),
    lease_ms=60_000,
    timeout_ms=300_000,
    clock_error_ms=1_000,
)
CLAIMED = applied(CLAIM, QUEUED)
THROTTLED = error("ThrottlingException")


def store_of(client: ScriptedClient, clock: QuickClock | None = None, **options: Any) -> DynamoDbStore:  # noqa: ANN401
    return DynamoDbStore(
        client, TABLES, clock=clock or QuickClock(), entropy=CountingEntropy(), options=Options(**options)
    )


def refused_by(execution: Execution) -> ClientError:
    return error("ConditionalCheckFailedException", Item=executions.to_item(execution))


def attributes(execution: Execution) -> dict[str, Any]:
    return {"Attributes": executions.to_item(execution)}


# --- one write ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "fault",
    [
        THROTTLED,
        error("ProvisionedThroughputExceededException"),
        error("TransactionConflictException"),
        error("InternalServerError", status=500),
        error("", status=503),
        timeout(),
        EndpointConnectionError(endpoint_url="http://127.0.0.1"),
    ],
    ids=lambda fault: str(fault)[-40:],
)
@pytest.mark.sem("SEM-STORE-5")
async def test_a_write_is_repeated_as_it_is_until_it_is_answered(fault: Exception) -> None:
    """A throttle, a conflict, an ill service, a cut connection: the very same request again."""
    client = ScriptedClient(update_item=[fault, fault, attributes(CLAIMED)])

    outcome = await store_of(client).write(CLAIM)

    assert outcome == Applied(CLAIMED)
    first, *others = client.requests("update_item")
    assert others == [first, first]


@pytest.mark.sem("SEM-STORE-5")
async def test_a_write_whose_reply_was_lost_is_recognised() -> None:
    """It had been applied: the repeat is refused by our own token, and that is a success."""
    client = ScriptedClient(update_item=[timeout(), refused_by(CLAIMED)])

    assert await store_of(client).write(CLAIM) == Applied(CLAIMED)


@pytest.mark.sem("SEM-STORE-5")
async def test_a_write_whose_request_was_lost_may_still_lose_the_race() -> None:
    """Another claimed in the meantime: the item shows a stranger's token."""
    others = replace(CLAIMED, claim_token=an_id(8))
    client = ScriptedClient(update_item=[timeout(), refused_by(others)])

    assert await store_of(client).write(CLAIM) == Refused(others)


async def test_a_refusal_without_an_item_says_that_there_is_none() -> None:
    """DynamoDB returns no old item where there was none."""
    client = ScriptedClient(update_item=[error("ConditionalCheckFailedException")])

    assert await store_of(client).write(CLAIM) == Refused(None)


async def test_a_store_that_is_down_says_so_in_bounded_time() -> None:
    """After so many tries, with waits of full jitter between them that grow up to the bound."""
    client, clock = ScriptedClient(update_item=[timeout()]), QuickClock()
    patience = Patience(tries_max=6, first_wait_ms=20, wait_ms_max=100)

    with pytest.raises(StoreUnavailable, match="update_item: ReadTimeoutError, after 6 tries"):
        await store_of(client, clock, patience=patience).write(CLAIM)

    assert len(client.asked) == 6
    assert clock.slept_ms == [10, 20, 40, 50, 50]


async def test_a_store_that_answers_slowly_is_given_up_in_time() -> None:
    """The bound in time holds however few the tries were."""
    clock = QuickClock()

    def late(_: Mapping[str, Any]) -> Mapping[str, Any]:
        clock.slept_ms.append(3_000)
        raise timeout()

    client = ScriptedClient(update_item=[late])

    with pytest.raises(StoreUnavailable, match="after 4 tries"):
        await store_of(client, clock).write(CLAIM)


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"])
async def test_a_bug_is_not_mistaken_for_a_fault(code: str) -> None:
    """A wrong request is wrong the next time too: it is raised as it is, at once."""
    client = ScriptedClient(update_item=[error(code)])

    with pytest.raises(ClientError, match=code):
        await store_of(client).write(CLAIM)

    assert len(client.asked) == 1


# --- reads ----------------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-STORE-4")
async def test_a_failed_read_is_never_an_empty_answer() -> None:
    """None means that DynamoDB said so; anything else raises."""
    store = store_of(ScriptedClient(get_item=[THROTTLED], query=[timeout()], batch_get_item=[error("", status=500)]))

    with pytest.raises(StoreUnavailable):
        await store.head(JOB)
    with pytest.raises(StoreUnavailable):
        await store.heads([JOB])
    with pytest.raises(StoreUnavailable):
        await store.executions_of(JOB, limit=10)


@pytest.mark.sem("SEM-STALE-1")
async def test_a_store_that_puts_off_to_the_end_says_that_it_is_there() -> None:
    """A read, a write, a transaction in conflict and keys left over: each is told apart from a store that is silent."""
    left = {"jobs": {"Keys": [{"jobId": wire.text(JOB)}]}}
    client = ScriptedClient(
        get_item=[THROTTLED],
        update_item=[error("TransactionConflictException")],
        transact_write_items=[cancelled(NOTHING, {"Code": "TransactionConflict"}, NOTHING)],
        batch_get_item=[{"Responses": {}, "UnprocessedKeys": left}],
    )
    store = store_of(client)

    for asked in (store.head(JOB), store.write(CLAIM), store.write_together(SUBMIT), store.heads([JOB])):
        with pytest.raises(StoreBusy):
            await asked


async def test_keys_left_unprocessed_are_read_again() -> None:
    """Only those, until none is left."""
    heads = [a_head(job_id=a_job_id(number)) for number in range(3)]

    def one_at_a_time(request: Mapping[str, Any]) -> Mapping[str, Any]:
        first, *rest = request["RequestItems"]["jobs"]["Keys"]
        found = [jobs.head_to_item(head) for head in heads if wire.text(head.job_id) == first["jobId"]]
        unprocessed = {"jobs": {"Keys": rest, "ConsistentRead": True}} if rest else {}
        return {"Responses": {"jobs": found}, "UnprocessedKeys": unprocessed}

    client = ScriptedClient(batch_get_item=[one_at_a_time])

    read = await store_of(client).heads([head.job_id for head in heads] * 2)

    assert read == {head.job_id: head for head in heads}
    assert [len(request["RequestItems"]["jobs"]["Keys"]) for _, request in client.asked] == [3, 2, 1]
    assert all(request["RequestItems"]["jobs"]["ConsistentRead"] for _, request in client.asked)


async def test_a_definition_is_read_once() -> None:
    """An eventual miss is repeated strongly; a hit is kept for ever."""
    definition = a_definition()
    client = ScriptedClient(get_item=[{}, {"Item": jobs.definition_to_item(definition)}])
    store = store_of(client)

    assert [await store.definition(JOB, 1) for _ in range(3)] == [definition] * 3
    assert [request["ConsistentRead"] for request in client.requests("get_item")] == [False, True]


async def test_a_definition_that_is_missing_is_asked_for_again() -> None:
    """Only what exists is remembered."""
    client = ScriptedClient(get_item=[{}, {}, {"Item": jobs.definition_to_item(a_definition())}])
    store = store_of(client)

    assert await store.definition(JOB, 1) is None
    assert await store.definition(JOB, 1) == a_definition()


# --- batches --------------------------------------------------------------------------------------------------------
INSERTS = [Insert(execution=an_execution(job_id=a_job_id(number))) for number in range(3)]
FINE: Mapping[str, Any] = {"TableName": "executions"}


def failed(code: str, **members: object) -> Mapping[str, Any]:
    return {"Error": {"Code": code, "Message": code, **members}, "TableName": "executions"}


def batch_of(*said: Mapping[str, Any]) -> Answer:
    return {"Responses": list(said)}


@pytest.mark.sem("SEM-STORE-2")
async def test_a_throttled_statement_is_repeated_alone() -> None:
    """In its plain form; the others of its batch are not asked again."""
    client = ScriptedClient(
        batch_execute_statement=[batch_of(FINE, failed("ThrottlingError"), FINE)], put_item=[THROTTLED, {}]
    )

    outcomes = await store_of(client).write_each(INSERTS)

    assert outcomes == [Applied(insert.execution) for insert in INSERTS]
    assert [name for name, _ in client.asked] == ["batch_execute_statement", "put_item", "put_item"]
    assert client.requests("put_item")[0]["Item"] == executions.to_item(INSERTS[1].execution)


@pytest.mark.sem("SEM-STORE-2")
async def test_a_statement_that_stays_throttled_has_no_known_outcome() -> None:
    """It is said of that one alone."""
    client = ScriptedClient(
        batch_execute_statement=[batch_of(FINE, failed("TransactionConflict"), FINE)], put_item=[THROTTLED]
    )

    outcomes = await store_of(client).write_each(INSERTS)

    assert outcomes == [Applied(INSERTS[0].execution), Unknown(), Applied(INSERTS[2].execution)]


@pytest.mark.sem("SEM-STORE-2")
async def test_a_batch_of_which_nothing_is_known_raises() -> None:
    """The store is down."""
    client = ScriptedClient(batch_execute_statement=[timeout()])

    with pytest.raises(StoreUnavailable, match="of 3 writes"):
        await store_of(client).write_each(INSERTS)


async def test_an_old_item_that_the_engine_leaves_out_is_read() -> None:
    """A duplicate brings none: it is read strongly, and it is the same execution."""
    there = replace(INSERTS[1].execution, state=State.CANCELLED, finished_at=TICK)
    client = ScriptedClient(
        batch_execute_statement=[batch_of(FINE, failed("DuplicateItem"), FINE)],
        batch_get_item=[{"Responses": {"executions": [executions.to_item(there)]}}],
    )

    outcomes = await store_of(client).write_each(INSERTS)

    assert outcomes[1] == Refused(there)
    assert client.requests("batch_get_item")[0]["RequestItems"]["executions"]["ConsistentRead"] is True


async def test_an_old_item_that_comes_with_the_answer_is_not_read_again() -> None:
    """The service gives it for updates, as it was asked to."""
    heads = [a_head(job_id=a_job_id(number), version=2) for number in range(2)]
    occupies = [Occupy(job_id=head.job_id, version=1, seen_active=None, active="x@1") for head in heads]
    said = [failed("ConditionalCheckFailed", Item=jobs.head_to_item(head)) for head in heads]
    client = ScriptedClient(batch_execute_statement=[batch_of(*said)])

    assert await store_of(client).write_each(occupies) == [Refused(head) for head in heads]
    statements = client.requests("batch_execute_statement")[0]["Statements"]
    assert all(one["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD" for one in statements)


async def test_a_statement_that_is_wrong_is_a_bug() -> None:
    """It is not mistaken for a refusal."""
    client = ScriptedClient(batch_execute_statement=[batch_of(FINE, failed("ValidationError"), FINE)])

    with pytest.raises(AssertionError, match="ValidationError"):
        await store_of(client).write_each(INSERTS)


async def test_without_statements_each_write_goes_alone() -> None:
    """For an engine that reads none."""
    client = ScriptedClient(put_item=[{}])

    await store_of(client, partiql=False).write_each(INSERTS)

    assert [name for name, _ in client.asked] == ["put_item"] * 3


# --- transactions ---------------------------------------------------------------------------------------------------
HEAD, DEFINITION, NAME = a_head(), a_definition(), a_name_record()
SUBMIT: list[AnyChange] = [PutHead(head=HEAD), PutDefinition(definition=DEFINITION), PutName(record=NAME)]
ITEMS = [jobs.head_to_item(HEAD), jobs.definition_to_item(DEFINITION), control.name_to_item(NAME)]
NOTHING: Mapping[str, Any] = {"Code": "None"}


def cancelled(*reasons: Mapping[str, Any]) -> ClientError:
    return error("TransactionCanceledException", CancellationReasons=list(reasons))


def by(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Code": "ConditionalCheckFailed", "Item": item}


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
@pytest.mark.sem("SEM-STORE-3")
async def test_a_conflict_is_no_refusal(code: str) -> None:
    """The same request is repeated with the same token, so that it can never be carried out twice."""
    client = ScriptedClient(transact_write_items=[cancelled(NOTHING, {"Code": code}, NOTHING), {}])

    outcomes = await store_of(client).write_together(SUBMIT)

    assert outcomes == [Applied(HEAD), Applied(DEFINITION), Applied(NAME)]
    first, second = client.requests("transact_write_items")
    assert first == second
    assert first["ClientRequestToken"] == "token-1"


async def test_two_intents_have_two_tokens() -> None:
    """Else the second would be taken for a repeat of the first."""
    client = ScriptedClient(transact_write_items=[{}])
    store = store_of(client)

    await store.write_together(SUBMIT)
    await store.write_together(SUBMIT)

    assert [request["ClientRequestToken"] for _, request in client.asked] == ["token-1", "token-2"]


async def test_conflicts_without_end_are_a_fault() -> None:
    """Never a refusal: nobody has judged the condition."""
    client = ScriptedClient(transact_write_items=[cancelled(NOTHING, {"Code": "TransactionConflict"}, NOTHING)])

    with pytest.raises(StoreUnavailable, match="TransactionConflict"):
        await store_of(client).write_together(SUBMIT)


@pytest.mark.sem("SEM-STORE-3")
async def test_a_refused_transaction_says_which_item_refused_it() -> None:
    """The others would have been applied and are not: what they are is not known."""
    taken = a_name_record(job_id=a_job_id(9))
    client = ScriptedClient(
        transact_write_items=[cancelled(NOTHING, {"Code": "TransactionConflict"}, by(control.name_to_item(taken)))]
    )

    assert await store_of(client).write_together(SUBMIT) == [Refused(None), Refused(None), Refused(taken)]


@pytest.mark.sem("SEM-STORE-5", "SEM-STORE-3")
async def test_a_transaction_whose_reply_was_lost_is_recognised() -> None:
    """The token has been forgotten: two items show our own work, and the third would be put again as it is."""
    client = ScriptedClient(
        transact_write_items=[timeout(), cancelled(by(ITEMS[0]), by(ITEMS[1]), NOTHING)],
        batch_get_item=[{"Responses": {"control": [ITEMS[2]]}}],
    )

    assert await store_of(client).write_together(SUBMIT) == [Applied(HEAD), Applied(DEFINITION), Applied(NAME)]


@pytest.mark.sem("SEM-STORE-3")
async def test_half_a_likeness_is_no_recognition() -> None:
    """An equal definition stands there, but the name does not: this transaction has never been carried out."""
    client = ScriptedClient(
        transact_write_items=[cancelled(NOTHING, by(ITEMS[1]), NOTHING)],
        batch_get_item=[{"Responses": {"jobs": [ITEMS[0]]}}, {"Responses": {}}],
    )

    outcomes = await store_of(client).write_together(SUBMIT)

    assert any(isinstance(outcome, Refused) for outcome in outcomes)


async def test_what_a_transaction_updates_is_read_after_it() -> None:
    """It returns no items."""
    occupied = replace(HEAD, active=QUEUED.occupant())
    occupy = Occupy(job_id=JOB, version=1, seen_active=None, active=QUEUED.occupant())
    client = ScriptedClient(
        transact_write_items=[{}], batch_get_item=[{"Responses": {"jobs": [jobs.head_to_item(occupied)]}}]
    )

    outcomes = await store_of(client).write_together([occupy, Insert(execution=QUEUED)])

    assert outcomes == [Applied(occupied), Applied(QUEUED)]


# --- what it costs --------------------------------------------------------------------------------------------------
async def test_a_meter_sums_what_the_calls_have_used() -> None:
    """Writes and reads apart, by table and operation; a refusal is a unit that nobody reports."""
    meter = CapacityMeter()
    client = ScriptedClient(
        update_item=[
            attributes(CLAIMED) | {"ConsumedCapacity": {"TableName": "executions", "CapacityUnits": 3.0}},
            refused_by(replace(CLAIMED, claim_token=an_id(8))),
        ],
        get_item=[{"ConsumedCapacity": {"TableName": "jobs", "CapacityUnits": 0.5}}],
        batch_get_item=[
            {"Responses": {}, "ConsumedCapacity": [{"TableName": "jobs", "CapacityUnits": 2.0}]},
        ],
    )
    store = store_of(client, meter=meter)

    await store.write(CLAIM)
    await store.write(CLAIM)
    await store.head(JOB)
    await store.heads([JOB])

    assert (meter.write_units, meter.read_units) == (4.0, 2.5)
    assert meter.units["executions", "update_item"] == 3.0
    assert meter.refused == {"update_item": 1}
    assert all(request["ReturnConsumedCapacity"] == "INDEXES" for _, request in client.asked)


async def test_a_query_that_finds_nothing_is_counted_at_what_dynamodb_charges() -> None:
    """The local engine says that it is free: a strong one is a unit at least, one of an index half of that."""
    meter = CapacityMeter()
    free = {"Items": [], "ConsumedCapacity": {"TableName": "any", "CapacityUnits": 0.0}}
    store = store_of(ScriptedClient(query=[free, free]), meter=meter)

    await store.pages(0, until=Instant(1_000), limit=1)
    await store.due_eventually(0, Lane.HIGH, until=Instant(1_000), limit=1)

    assert meter.read_units == 1.5


async def test_without_a_meter_nothing_is_asked_for() -> None:
    """It would cost bytes in every answer."""
    client = ScriptedClient(get_item=[{}])

    await store_of(client).head(JOB)

    assert "ReturnConsumedCapacity" not in client.asked[0][1]
