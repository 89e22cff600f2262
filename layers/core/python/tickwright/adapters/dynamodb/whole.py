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
from tickwright.adapters.dynamodb.expressions.queries import Query
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
from tickwright.ports.store import Listing
from tickwright.ports.whole import UNREADABLE, Scanned

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
        items, last = await self._scanned(Table.JOBS, limit, after)
        heads = [item for item in items if item["sk"] == keys.head(JobId(""))["sk"]]
        return _scanned(heads, jobs.head_from_item, last, ("jobId", "sk"))

    async def every_execution_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Execution]:
        """A scan."""
        after = None if after_key is None else keys.execution(_ref_of(after_key))
        items, last = await self._scanned(Table.EXECUTIONS, limit, after)
        return _scanned(items, executions.from_item, last, ("jobId", "key"))

    async def every_tenant_eventually(self, *, limit: int, after_key: str | None = None) -> Listing[TenantId]:
        """A scan, of all that lies under a tenant but the record that it was deleted."""
        pk, _, sk = (after_key or "").partition(" ")
        after = None if after_key is None else {"pk": wire.text(pk), "sk": wire.text(sk)}
        items, last = await self._scanned(Table.CONTROL, limit, after)
        tenants = dict.fromkeys(tenant_id for item in items if (tenant_id := keys.tenant_of(item)) is not None)
        return Listing(items=list(tenants), next_key=None if last is None else _place(last, "pk", "sk"))

    async def jobs_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[JobId]:
        """A scan."""
        after = None if after_key is None else _after_head(after_key)
        items, last = await self._scanned(Table.JOBS, limit, after, of=tenant_id)
        found = dict.fromkeys(JobId(wire.as_text(item["jobId"])) for item in items)
        return Listing(items=list(found), next_key=None if last is None else _place(last, "jobId", "sk"))

    async def executions_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[ExecutionRef]:
        """A scan."""
        after = None if after_key is None else keys.execution(_ref_of(after_key))
        items, last = await self._scanned(Table.EXECUTIONS, limit, after, of=tenant_id)
        found = [_ref_of(_place(item, "jobId", "key")) for item in items]
        return Listing(items=found, next_key=None if last is None else _place(last, "jobId", "key"))

    async def deletion(self, tenant_id: TenantId) -> Deletion | None:
        """The record."""
        item = await self._reader.get(Table.CONTROL, keys.deletion(tenant_id))
        return None if item is None else control.deletion_from_item(item)

    async def _scanned(
        self, table: Table, limit: int, after: Item | None, *, of: TenantId | None = None
    ) -> tuple[list[Item], Item | None]:
        """A look at so many items; `of`: only that tenant's are sent, and all are paid for."""
        asked: dict[str, Any] = {"TableName": self._engine.name_of(table), "Limit": limit}
        if of is not None:
            asked["FilterExpression"] = queries.OF_TENANT
            asked["ExpressionAttributeNames"] = names_in(queries.OF_TENANT)
            asked["ExpressionAttributeValues"] = {":tenantId": wire.text(of)}
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


def _ref_of(next_key: str) -> ExecutionRef:
    job_id, _, key = next_key.partition(" ")
    return ExecutionRef(JobId(job_id), ExecutionKey(key))
