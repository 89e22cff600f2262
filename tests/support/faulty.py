"""Store and queue as the world treats them: processes die, replies are lost, indexes lag, hints go astray.

A tap sits in front of both ports and sees every call. A Crash is no Exception, so that no handler of the product can
swallow the death of its own process. Must not know what is written.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeVar

from tickwright.domain.changes import Change
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, Head
from tickwright.domain.journal import Page
from tickwright.domain.lanes import Lane
from tickwright.domain.leases import BucketLease
from tickwright.domain.own_payloads import OwnPayload
from tickwright.domain.pools import LAMBDA, Pool
from tickwright.domain.redrive_orders import Order, OrderId
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import Seat
from tickwright.domain.stored_logs import StoredLog
from tickwright.domain.tenants import ApiKey, IdempotencyRecord, NameRecord
from tickwright.domain.webhooks import Rotation
from tickwright.ports.clock import Clock
from tickwright.ports.faults import QueueUnavailable, StoreUnavailable, Unavailable
from tickwright.ports.queue import DeadLetter, Hint, Queue, Received
from tickwright.ports.store import AnyChange, Listing, Outcome, Store, Unknown

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")


class Crash(BaseException):
    """The process died here."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a port. `what` is the change or item of a write, as far as there is one."""

    name: str
    writes: bool
    fault: type[Unavailable]
    what: object = None


class Tap(Protocol):
    """Sees every call before it reaches the port."""

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Do it, or not, or twice, or first something else."""
        ...


class Fate(Enum):
    """What happens at the chosen write."""

    CRASH_BEFORE = "the process dies before the write"
    CRASH_AFTER = "the process dies after the write"
    LOST_BEFORE = "the write does not arrive, and its outcome is unknown"
    LOST_AFTER = "the write is applied, and its outcome is unknown"


def _is_about(what: object, kind: type) -> bool:
    """Whether a write is of a kind, or a transaction with one of it."""
    return isinstance(what, kind) or (isinstance(what, tuple) and any(isinstance(one, kind) for one in what))


@dataclass(slots=True)
class Script:
    """One process: counts its writes, sends to the queue among them, and lets fate strike at one of them.

    `of`: counts only the writes of one kind of change.
    """

    at: int | None = None
    fate: Fate = Fate.CRASH_BEFORE
    of: type = object
    writes: int = 0
    is_dead: bool = False

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """After a crash the process does nothing any more, whatever its coroutines still try."""
        if self.is_dead:
            raise Crash
        if not call.writes or not _is_about(call.what, self.of):
            return await do()
        self.writes += 1
        if self.writes != self.at:
            return await do()
        return await self._struck(call, do)

    async def _struck(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        self.is_dead = self.fate in {Fate.CRASH_BEFORE, Fate.CRASH_AFTER}
        if self.fate in {Fate.CRASH_AFTER, Fate.LOST_AFTER}:
            await do()
        if self.is_dead:
            raise Crash
        raise call.fault(self.fate.value)


@dataclass(slots=True)
class Interject:
    """Does something of somebody else's at the n-th call of a name: before it, or after it."""

    name: str
    act: Callable[[], Awaitable[object]]
    nth: int = 1
    after: bool = False
    seen: int = 0

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """The call itself is done as it is."""
        self.seen += int(call.name == self.name)
        if call.name != self.name or self.seen != self.nth:
            return await do()
        if not self.after:
            await self.act()
            return await do()
        answer = await do()
        await self.act()
        return answer


@dataclass(slots=True)
class Down:
    """A port that is ill for as long as the test says: calls of these names fail, the others pass."""

    names: frozenset[str]
    is_down: bool = True
    refused: int = 0

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Fail without doing it."""
        if self.is_down and call.name in self.names:
            self.refused += 1
            raise call.fault(f"{call.name} is down")
        return await do()


@dataclass(slots=True)
class Slow:
    """A port whose every answer takes its time."""

    clock: Clock
    ms: int

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Wait, then do it."""
        await self.clock.sleep_ms(self.ms)
        return await do()


@dataclass(slots=True)
class Recorder:
    """Lets all pass and keeps what was written."""

    calls: list[Call] = field(default_factory=list)

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Keep it, then do it."""
        self.calls.append(call)
        return await do()

    def written(self, kind: type[ItemT]) -> list[ItemT]:
        """The writes of one kind."""
        each = [call.what if isinstance(call.what, tuple) else (call.what,) for call in self.calls]
        return [one for some in each for one in some if isinstance(one, kind)]


class FaultyStore:
    """A store behind a tap. A batch goes through it write by write, since nothing is atomic across one."""

    def __init__(self, store: Store, tap: Tap) -> None:
        """Put the tap in front."""
        self._store = store
        self._tap = tap

    async def _write(self, name: str, what: object, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        return await self._tap.through(Call(name, writes=True, fault=StoreUnavailable, what=what), do)

    async def _read(self, name: str, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        return await self._tap.through(Call(name, writes=False, fault=StoreUnavailable), do)

    async def write(self, change: Change[ItemT]) -> Outcome[ItemT]:
        """One write."""
        return await self._write("write", change, lambda: self._store.write(change))

    async def write_each(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any] | Unknown]:
        """Write by write; what is lost is Unknown, as the port says."""
        outcomes = [await self._one_of_many(change) for change in changes]
        if outcomes and all(isinstance(outcome, Unknown) for outcome in outcomes):
            raise StoreUnavailable("not one outcome is known")
        return outcomes

    async def _one_of_many(self, change: AnyChange) -> Outcome[Any] | Unknown:
        try:
            return await self._write("write_each", change, lambda: self._store.write(change))
        except StoreUnavailable:
            return Unknown()

    async def write_together(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any]]:
        """One transaction is one write."""
        return await self._write("write_together", tuple(changes), lambda: self._store.write_together(changes))

    async def put_page(self, page: Page) -> None:
        """J."""
        await self._write("put_page", page, lambda: self._store.put_page(page))

    async def delete_page(self, page: Page) -> None:
        """A delete is a write."""
        await self._write("delete_page", page, lambda: self._store.delete_page(page))

    async def put_log(self, log: StoredLog) -> None:
        """Put a log."""
        await self._write("put_log", log, lambda: self._store.put_log(log))

    async def put_api_key(self, api_key: ApiKey) -> None:
        """Put a key."""
        await self._write("put_api_key", api_key, lambda: self._store.put_api_key(api_key))

    async def head(self, job_id: JobId) -> Head | None:
        """A strong read."""
        return await self._read("head", lambda: self._store.head(job_id))

    async def heads(self, job_ids: Sequence[JobId]) -> dict[JobId, Head]:
        """A strong read."""
        return await self._read("heads", lambda: self._store.heads(job_ids))

    async def execution(self, ref: ExecutionRef) -> Execution | None:
        """A strong read."""
        return await self._read("execution", lambda: self._store.execution(ref))

    async def executions(self, refs: Sequence[ExecutionRef]) -> dict[ExecutionRef, Execution]:
        """A strong read."""
        return await self._read("executions", lambda: self._store.executions(refs))

    async def definition(self, job_id: JobId, version: int) -> Definition | None:
        """A strong read."""
        return await self._read("definition", lambda: self._store.definition(job_id, version))

    async def executions_of(
        self, job_id: JobId, *, limit: int, since: Instant | None = None, after_key: str | None = None
    ) -> Listing[Execution]:
        """A strong read."""
        return await self._read(
            "executions_of",
            lambda: self._store.executions_of(job_id, limit=limit, since=since, after_key=after_key),
        )

    async def pages(self, bucket: int, *, until: Instant, limit: int) -> Sequence[Page]:
        """A strong read."""
        return await self._read("pages", lambda: self._store.pages(bucket, until=until, limit=limit))

    async def lease(self, bucket: int) -> BucketLease | None:
        """A strong read."""
        return await self._read("lease", lambda: self._store.lease(bucket))

    async def idempotency(self, tenant_id: TenantId, key: str) -> IdempotencyRecord | None:
        """A strong read."""
        return await self._read("idempotency", lambda: self._store.idempotency(tenant_id, key))

    async def named(self, tenant_id: TenantId, name: str) -> NameRecord | None:
        """A strong read."""
        return await self._read("named", lambda: self._store.named(tenant_id, name))

    async def calendars(self, tenant_id: TenantId, names: Sequence[str]) -> dict[str, Calendar]:
        """A strong read."""
        return await self._read("calendars", lambda: self._store.calendars(tenant_id, names))

    async def calendar_versions(self, tenant_id: TenantId, name: str, versions: Sequence[int]) -> dict[int, Calendar]:
        """A strong read."""
        return await self._read("calendar_versions", lambda: self._store.calendar_versions(tenant_id, name, versions))

    async def calendars_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Calendar]:
        """A strong read."""
        return await self._read(
            "calendars_of", lambda: self._store.calendars_of(tenant_id, limit=limit, after_key=after_key)
        )

    async def logs_of(self, ref: ExecutionRef, *, limit: int, after_key: str | None = None) -> Listing[StoredLog]:
        """A strong read."""
        return await self._read("logs_of", lambda: self._store.logs_of(ref, limit=limit, after_key=after_key))

    async def redrive_order(self, tenant_id: TenantId, order_id: OrderId) -> Order | None:
        """A strong read."""
        return await self._read("redrive_order", lambda: self._store.redrive_order(tenant_id, order_id))

    async def redrive_orders(
        self, tenant_id: TenantId | None, *, limit: int, after_key: str | None = None
    ) -> Listing[Order]:
        """A strong read."""
        asked = partial(self._store.redrive_orders, tenant_id, limit=limit, after_key=after_key)
        return await self._read("redrive_orders", asked)

    async def own_payload(self, ref: ExecutionRef) -> OwnPayload | None:
        """A strong read."""
        return await self._read("own_payload", lambda: self._store.own_payload(ref))

    async def webhook_rotation(self, tenant_id: TenantId) -> Rotation | None:
        """A strong read."""
        return await self._read("webhook_rotation", lambda: self._store.webhook_rotation(tenant_id))

    async def pool(self, tenant_id: TenantId, name: str) -> Pool | None:
        """A strong read."""
        return await self._read("pool", lambda: self._store.pool(tenant_id, name))

    async def pools_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
        """A strong read."""
        return await self._read("pools_of", lambda: self._store.pools_of(tenant_id, limit=limit, after_key=after_key))

    async def seats_of(self, tenant_id: TenantId) -> Sequence[Seat]:
        """A strong read."""
        return await self._read("seats_of", lambda: self._store.seats_of(tenant_id))

    async def api_keys_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[ApiKey]:
        """A strong read."""
        return await self._read(
            "api_keys_of", lambda: self._store.api_keys_of(tenant_id, limit=limit, after_key=after_key)
        )

    async def api_key(self, key_hash: str) -> ApiKey | None:
        """A strong read."""
        return await self._read("api_key", lambda: self._store.api_key(key_hash))

    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """A read that may be stale."""
        return await self._read(
            "due_eventually",
            lambda: self._store.due_eventually(bucket, lane, until=until, limit=limit, after_key=after_key),
        )

    async def waiting_eventually(self, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
        """A read that may be stale."""
        return await self._read(
            "waiting_eventually", lambda: self._store.waiting_eventually(wait_key, until=until, limit=limit)
        )

    async def jobs_eventually(
        self, tenant_id: TenantId, *, limit: int, prefix: str = "", after_key: str | None = None
    ) -> Listing[JobId]:
        """A read that may be stale."""
        return await self._read(
            "jobs_eventually",
            lambda: self._store.jobs_eventually(tenant_id, limit=limit, prefix=prefix, after_key=after_key),
        )

    async def attention_eventually(
        self,
        tenant_id: TenantId,
        *,
        limit: int,
        since: Instant | None = None,
        until: Instant | None = None,
        after_key: str | None = None,
    ) -> Listing[ExecutionRef]:
        """A read that may be stale."""
        asked = partial(self._store.attention_eventually, limit=limit, since=since, until=until, after_key=after_key)
        return await self._read("attention_eventually", lambda: asked(tenant_id))


class LaggingIndex(FaultyStore):
    """A store whose due and waiting indexes can be stopped: from then on they show what was there."""

    def __init__(self, store: Store, tap: Tap) -> None:
        """Begin without a lag."""
        super().__init__(store, tap)
        self._heads: Sequence[Head] | None = None
        self._refs: Sequence[ExecutionRef] | None = None

    def show_heads(self, heads: Sequence[Head]) -> None:
        """Stop the due index at these heads."""
        self._heads = heads

    def show_waiting(self, refs: Sequence[ExecutionRef]) -> None:
        """Stop the waiting index at these executions."""
        self._refs = refs

    def catch_up(self) -> None:
        """Show what is there again."""
        self._heads = self._refs = None

    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """What was there."""
        if self._heads is None:
            return await super().due_eventually(bucket, lane, until=until, limit=limit, after_key=after_key)
        asked = [head for head in self._heads if head.bucket == bucket and head.lane is lane]
        due = [head for head in asked if head.next_run_at is not None and head.next_run_at <= until]
        return Listing(items=due, next_key=None)

    async def waiting_eventually(self, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
        """What was there."""
        if self._refs is None:
            return await super().waiting_eventually(wait_key, until=until, limit=limit)
        return self._refs


class FaultyQueue:
    """A queue behind a tap. What it is given may be lost, doubled or late, if the test says so."""

    def __init__(self, queue: Queue, tap: Tap) -> None:
        """Put the tap in front."""
        self._queue = queue
        self._tap = tap
        self.copies = 1  # 0 loses every hint, 2 doubles it
        self.late_ms = 0

    async def _write(self, name: str, what: object, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        return await self._tap.through(Call(name, writes=True, fault=QueueUnavailable, what=what), do)

    async def send(self, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        """Take all, and say so, whatever becomes of them."""
        sent = list(hints) * self.copies
        if not sent:
            return []
        return await self._write("send", tuple(hints), lambda: self._queue.send(sent, Instant(now + self.late_ms)))

    async def prepare(self, pool: str) -> None:
        """A write."""
        await self._write("prepare", pool, lambda: self._queue.prepare(pool))

    async def remove(self, pool: str) -> None:
        """A write."""
        await self._write("remove", pool, lambda: self._queue.remove(pool))

    async def waiting(self, pool: str) -> int:
        """A read."""
        call = Call("waiting", writes=False, fault=QueueUnavailable)
        return await self._tap.through(call, lambda: self._queue.waiting(pool))

    async def receive(
        self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """A receive moves visibility only: no position of its own for a crash."""
        return await self.receive_any([lane], limit=limit, wait_ms=wait_ms, visibility_ms=visibility_ms, pool=pool)

    async def receive_any(
        self, lanes: Sequence[Lane], *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """The same of several lanes."""
        call = Call("receive", writes=False, fault=QueueUnavailable)
        asked = partial(self._queue.receive_any, lanes, limit=limit, wait_ms=wait_ms, visibility_ms=visibility_ms)
        return await self._tap.through(call, lambda: asked(pool=pool))

    async def delete(self, received: Sequence[Received]) -> None:
        """A write."""
        await self._write("delete", tuple(received), lambda: self._queue.delete(received))

    async def show_again(self, received: Received, *, after_ms: int) -> None:
        """A write."""
        await self._write("show_again", received, lambda: self._queue.show_again(received, after_ms=after_ms))

    async def send_dead(self, letter: DeadLetter) -> None:
        """A write."""
        await self._write("send_dead", letter, lambda: self._queue.send_dead(letter))
