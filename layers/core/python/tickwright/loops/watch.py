"""The watch loop: looks after journal pages whose time has come, from the start of each partition, without a cursor.

Then it carries out what orders to redrive have left to do, for a few seconds. A shell around services/resolve.py and
services/redrive_orders.py: any number may run, and none needs a lease. Promises: SEM-JOURNAL-2, SEM-DLQ-2.
"""

import asyncio
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Page
from tickwright.domain.redrive_orders import Order, OrderStatus
from tickwright.loops.waiting import sleep_or_stop
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.redrive_orders import move_on
from tickwright.services.resolve import resolve

_ORDERS_SHARE = 3  # of the time between two looks: 3.3 s

OrderPlace = tuple[str, str]


@dataclass(slots=True)
class WatchLoop:
    """One watcher. `woken_ms`: where another is woken within so long, it ends when nothing comes due until then."""

    kit: Kit
    woken_ms: int | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _moved_last: OrderPlace = ("", "")
    _has_orders: bool = False

    async def run(self, stop: asyncio.Event) -> None:
        """Look every ten seconds until `stop` is set; a look that is under way ends with the page it is at."""
        self._stop = stop
        while not stop.is_set():
            pages = await self.look()
            if self.woken_ms is not None and pages == 0 and await self._is_quiet(self.woken_ms):
                return
            await sleep_or_stop(self.kit, stop, self.kit.durations.watch_ms)

    async def look(self) -> int:
        """Resolve every page that is due; how many pages. A sick store costs a look, never the loop."""
        pages = 0
        for bucket in range(self.kit.buckets_read):
            try:
                pages += await self._look_at(bucket)
            except Unavailable as fault:
                self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, bucket=str(bucket))
            except Exception as fault:  # noqa: BLE001 - a page that cannot be read; the other buckets are looked at
                self._announce(fault, bucket=str(bucket))
        await self._move_orders_on()
        return pages

    async def _is_quiet(self, woken_ms: int) -> bool:
        """Whether the next one is early enough. A page that is written after this is looked at late, as after a crash.

        Nearly all are written two minutes ahead.
        """
        until = Instant(self.kit.clock.now() + woken_ms)
        try:
            for bucket in range(self.kit.buckets_read):
                if await self.kit.store.pages(bucket, until=until, limit=1):
                    return False
        except Unavailable:
            return False
        return not self._has_orders

    async def _move_orders_on(self) -> None:
        """Orders that run, each for itself and for its share of a few seconds: the journal is looked at again soon.

        Those that a look had no time for come first in the next.
        """
        ends_ms = self.kit.clock.monotonic_ms() + self.kit.durations.watch_ms // _ORDERS_SHARE
        self._has_orders = True  # as far as anybody knows
        try:
            orders = _from_the_next(await self._running_orders(), self._moved_last)
            self._has_orders = bool(orders)
            for number, order in enumerate(orders):
                left_ms = ends_ms - self.kit.clock.monotonic_ms()
                if self._stop.is_set() or left_ms <= 0:
                    return
                await self._move_on(order, left_ms // (len(orders) - number))
                self._moved_last = _place(order)
        except Unavailable as fault:
            self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__)
        except Exception as fault:  # noqa: BLE001 - an order that cannot be read; it is announced at each look
            self._announce(fault)

    async def _running_orders(self) -> list[Order]:
        """All of them; one that has ended stays for a while to be looked at."""
        running, after_key = list[Order](), None
        while not self._stop.is_set():
            page = await self.kit.store.redrive_orders(None, limit=limits.LIST_PAGE_MAX, after_key=after_key)
            running += [order for order in page.items if order.status is OrderStatus.RUNNING]
            if (after_key := page.next_key) is None:
                break
        return running

    async def _move_on(self, order: Order, budget_ms: int) -> None:
        try:
            await move_on(self.kit, order, budget_ms=budget_ms)
        except Unavailable as fault:
            self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, orderId=order.order_id)
        except Exception as fault:  # noqa: BLE001 - it is announced, and the others are carried out
            self._announce(fault, orderId=order.order_id)

    async def _look_at(self, bucket: int) -> int:
        pages = await self.kit.store.pages(bucket, until=self.kit.clock.now(), limit=limits.JOURNAL_PAGES_A_LOOK)
        for number, page in enumerate(pages):
            if self._stop.is_set():
                return number
            await self._resolve(page)
        return len(pages)

    async def _resolve(self, page: Page) -> None:
        """One page. A bug that an entry brings to light leaves its page as it is, and the others are looked after."""
        try:
            await resolve(self.kit, page)
        except Unavailable:
            raise
        except Exception as fault:  # noqa: BLE001 - it is announced, and comes again at the next look
            self._announce(fault, bucket=str(page.bucket))

    def _announce(self, fault: Exception, **about: str) -> None:
        name = type(fault).__name__
        self.kit.emit(EventName.LOOP_BROKE, measured=None, fault=name, detail=str(fault)[:500], **about)


def _from_the_next(orders: list[Order], last: OrderPlace) -> list[Order]:
    """In the order of their places, beginning behind the last one."""
    return sorted(orders, key=lambda order: (_place(order) <= last, _place(order)))


def _place(order: Order) -> OrderPlace:
    return order.tenant_id, order.order_id
