"""What an operator asks of the four tables: ports/whole.py, by scans and by deletes in batches of 25.

Must not decide what may go. A scan reads eventually: 0.5 units for 4 KB of whatever lies there.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from tickwright.adapters.aws.faults import code_of
from tickwright.adapters.aws.patience import TryAgain
from tickwright.adapters.dynamodb import keys, listings, wire
from tickwright.adapters.dynamodb.engine import Engine
from tickwright.adapters.dynamodb.expressions import queries
from tickwright.adapters.dynamodb.expressions.queries import Query, Scan
from tickwright.adapters.dynamodb.expressions.write import names_in
from tickwright.adapters.dynamodb.items import control, executions, jobs
from tickwright.adapters.dynamodb.judge import REFUSED_ALONE
from tickwright.adapters.dynamodb.reader import Reader
from tickwright.adapters.dynamodb.requests import control as requests
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.deletions import CallOff, Deletion, PutDeletion
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId, TenantId
from tickwright.domain.jobs import Head
from tickwright.domain.tenants import ApiKey
from tickwright.ports.store import Listing
from tickwright.ports.whole import UNREADABLE, Scanned, Sign

ItemT = TypeVar("ItemT")

_DELETES_A_REQUEST: Final = 25  # BatchWriteItem's limit
_VERSIONS_MAX: Final = 100_000  # of one job: it is deleted again for those beyond
_KEPT_MAX: Final = 1_000  # logs of one execution: one an attempt and reporter


class DynamoDbWhole:
    """All of the four tables."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reader = Reader(engine)

    # --- reads --------------------------------------------------------------------------------------------------
    async def every_head_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Head]:
        """Definitions lie between them: they are read and left out."""
        after = None if after_key is None else _after_head(after_key)
        items, last = await self._scanned(queries.ALL_JOBS, {}, limit, after)
        heads = [item for item in items if item["sk"] == keys.head(JobId(""))["sk"]]
        return _scanned(heads, jobs.head_from_item, last, ("jobId", "sk"))

    async def every_execution_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Execution]:
        """A scan."""
        after = None if after_key is None else keys.execution(_ref_of(after_key))
        items, last = await self._scanned(queries.ALL_EXECUTIONS, {}, limit, after)
        return _scanned(items, executions.from_item, last, ("jobId", "key"))

    async def every_api_key_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[ApiKey]:
        """A scan of the table control, of which keys alone are sent."""
        after = None if after_key is None else _after_record(after_key)
        items, last = await self._scanned(queries.ALL_API_KEYS, {":key": keys.api_key("")["sk"]}, limit, after)
        return _scanned(items, control.api_key_from_item, last, ("pk", "sk"))

    async def every_sign_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Sign]:
        """A scan of the table control."""
        after = None if after_key is None else _after_record(after_key)
        values = {":key": keys.api_key("")["sk"], ":tenant": wire.text(keys.TENANT)}
        items, last = await self._scanned(queries.ALL_SIGNS, values, limit, after)
        return _scanned(items, _sign, last, ("pk", "sk"))

    async def jobs_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[JobId]:
        """A scan."""
        after = None if after_key is None else _after_head(after_key)
        items, last = await self._scanned(queries.JOBS_KEPT, {":tenantId": wire.text(tenant_id)}, limit, after)
        found = dict.fromkeys(JobId(wire.as_text(item["jobId"])) for item in items)
        return Listing(items=list(found), next_key=None if last is None else _place(last, "jobId", "sk"))

    async def executions_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[ExecutionRef]:
        """A scan."""
        after = None if after_key is None else keys.execution(_ref_of(after_key))
        items, last = await self._scanned(queries.EXECUTIONS_KEPT, {":tenantId": wire.text(tenant_id)}, limit, after)
        found = [_ref_of(_place(item, "jobId", "key")) for item in items]
        return Listing(items=found, next_key=None if last is None else _place(last, "jobId", "key"))

    async def deletion(self, tenant_id: TenantId) -> Deletion | None:
        """The record."""
        item = await self._reader.get(Table.CONTROL, keys.deletion(tenant_id))
        return None if item is None else control.deletion_from_item(item)

    async def _scanned(
        self, scan: Scan, values: Item, limit: int, after: Item | None
    ) -> tuple[list[Item], Item | None]:
        """A look at so many items; those that are not sent are paid for as well."""
        asked: dict[str, Any] = {"TableName": self._engine.name_of(scan.table), "Limit": limit}
        if scan.sent:
            asked["FilterExpression"] = scan.sent
            asked["ExpressionAttributeNames"] = names_in(scan.sent + scan.shown)
            asked["ExpressionAttributeValues"] = values
        if scan.shown:
            asked["ProjectionExpression"] = " ".join(scan.shown.split())
        if after is not None:
            asked["ExclusiveStartKey"] = after
        answer = await self._engine.ask("scan", asked)
        return answer["Items"], answer.get("LastEvaluatedKey")

    # --- writes -------------------------------------------------------------------------------------------------
    async def put_deletion(self, change: PutDeletion) -> bool:
        """The record; a refusal that shows the very same is a reply that was lost."""
        is_written = await self._written(requests.put_deletion(change))
        return is_written or await self.deletion(change.deletion.tenant_id) == change.deletion

    async def call_off(self, change: CallOff) -> bool:
        """The record; that there is none may be a reply that was lost."""
        return await self._written(requests.call_off(change)) or await self.deletion(change.seen.tenant_id) is None

    async def _written(self, asked: Request) -> bool:
        operation, request = asked.single(self._engine.names)
        try:
            await self._engine.ask(operation, request)
        except ClientError as error:
            if code_of(error) != REFUSED_ALONE:
                raise
            return False
        return True

    async def forget_executions(self, refs: Sequence[ExecutionRef]) -> None:
        """What was kept of each, then the rows."""
        kept = [await self._kept_of(ref) for ref in refs]
        await self._delete(Table.CONTROL, [*chain.from_iterable(kept), *map(keys.own_payload, refs)])
        await self._delete(Table.EXECUTIONS, [keys.execution(ref) for ref in refs])

    async def _kept_of(self, ref: ExecutionRef) -> list[Item]:
        query, values = listings.logs_of(ref)
        return await self._keys_of(query, values, _KEPT_MAX)

    async def forget_job(self, tenant_id: TenantId, job_id: JobId) -> None:
        """The head last: versions come before it in their partition."""
        rows = await self._reader.range(queries.ROWS_OF_JOB, {"jobId": wire.text(job_id)}, limit=_VERSIONS_MAX)
        owned = [row for row in rows if wire.as_text(row["tenantId"]) == tenant_id]
        await self._delete(Table.JOBS, [{"jobId": row["jobId"], "sk": row["sk"]} for row in owned])

    async def forget_records(self, tenant_id: TenantId, *, limit: int) -> int:
        """A key before the entry that says that the tenant has it."""
        own = keys.deletion(tenant_id)
        under = await self._keys_of(queries.RECORDS_OF_TENANT, {"pk": own["pk"]}, limit + 1)
        orders = await self._keys_of(*listings.orders_of(tenant_id), limit)
        found = [*orders, *(key for key in under if key != own)][:limit]
        entries = [key for key in found if wire.as_text(key["sk"]).startswith(keys.API_KEY_OF)]
        await self._delete(Table.CONTROL, [keys.api_key(listings.hash_of_entry(entry)) for entry in entries])
        await self._delete(Table.CONTROL, found)
        return len(found)

    async def _keys_of(self, query: Query, values: Item, limit: int) -> list[Item]:
        items = await self._reader.range(query, values, limit=limit) if limit > 0 else []
        return [{"pk": item["pk"], "sk": item["sk"]} for item in items]

    async def _delete(self, table: Table, doomed: Sequence[Item]) -> None:
        for start in range(0, len(doomed), _DELETES_A_REQUEST):
            part = doomed[start : start + _DELETES_A_REQUEST]
            await self._delete_part(self._engine.name_of(table), [{"DeleteRequest": {"Key": key}} for key in part])

    async def _delete_part(self, name: str, pending: list[Item]) -> None:
        async def attempt() -> None:
            nonlocal pending
            answer = await self._engine.call("batch_write_item", {"RequestItems": {name: pending}})
            pending = answer.get("UnprocessedItems", {}).get(name, [])
            if pending:
                raise TryAgain("UnprocessedItems")

        await self._engine.persist("batch_write_item", attempt)


def _scanned(
    items: Sequence[Item], read: Callable[[Item], ItemT], last: Item | None, key: tuple[str, str]
) -> Scanned[ItemT]:
    """What can be read of them; one row of another version hides none beside it."""
    found, unreadable = list[ItemT](), list[str]()
    for item in items:
        try:
            found.append(read(item))
        except UNREADABLE:
            unreadable.append(_place(item, *key))
    return Scanned(items=found, next_key=None if last is None else _place(last, *key), unreadable=unreadable)


def _place(last: Item, *names: str) -> str:
    return " ".join(wire.as_text(last[name]) for name in names)


def _after_head(next_key: str) -> Item:
    job_id, _, sk = next_key.partition(" ")
    return keys.head(JobId(job_id)) | {"sk": wire.text(sk)}


def _after_record(next_key: str) -> Item:
    pk, _, sk = next_key.partition(" ")
    return {"pk": wire.text(pk), "sk": wire.text(sk)}


def _sign(item: Item) -> Sign:
    if item["sk"] == keys.api_key("")["sk"]:
        key = control.api_key_from_item(item)
        return Sign(tenant_id=key.tenant_id, key=key)
    tenant_id = keys.tenant_of(item)
    is_deletion = item["sk"] == keys.deletion(tenant_id)["sk"]
    return Sign(tenant_id=tenant_id, deletion=control.deletion_from_item(item) if is_deletion else None)


def _ref_of(next_key: str) -> ExecutionRef:
    job_id, _, key = next_key.partition(" ")
    return ExecutionRef(JobId(job_id), ExecutionKey(key))
