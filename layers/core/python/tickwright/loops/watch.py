"""The watch loop: looks after journal pages whose time has come, from the start of each partition, without a cursor.

Then it carries out what orders to redrive have left to do. A shell around services/resolve.py and
services/redrive_orders.py: any number may run, and none needs a lease. Promises: SEM-JOURNAL-2, SEM-DLQ-2.
"""

import asyncio
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.domain.journal import Page
from tickwright.domain.redrive_orders import Order, OrderStatus
from tickwright.loops.scheduler import sleep_or_stop
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.redrive_orders import move_on
from tickwright.services.resolve import resolve


@dataclass(slots=True)
class WatchLoop:
    """One watcher."""

    kit: Kit
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stop: asyncio.Event) -> None:
        """Look every ten seconds until `stop` is set; a look that is under way ends with the page it is at."""
        self._stop = stop
        while not stop.is_set():
            await self.look()
            await sleep_or_stop(self.kit, stop, self.kit.durations.watch_ms)

    async def look(self) -> int:
        """Resolve every page that is due; how many pages. A sick store costs a look, never the loop."""
        pages = 0
        for bucket in range(self.kit.buckets):
            try:
                pages += await self._look_at(bucket)
            except Unavailable as fault:
                self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, bucket=str(bucket))
            except Exception as fault:  # noqa: BLE001 - a page that cannot be read; the other buckets are looked at
                self._announce(fault, bucket=str(bucket))
        await self._move_orders_on()
        return pages

    async def _move_orders_on(self) -> None:
        """All orders that run, each for itself; one that has ended stays for a while to be looked at."""
        after_key: str | None = None
        try:
            while not self._stop.is_set():
                page = await self.kit.store.redrive_orders(None, limit=limits.LIST_PAGE_MAX, after_key=after_key)
                for order in page.items:
                    if order.status is OrderStatus.RUNNING and not self._stop.is_set():
                        await self._move_on(order)
                if (after_key := page.next_key) is None:
                    return
        except Unavailable as fault:
            self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__)
        except Exception as fault:  # noqa: BLE001 - an order that cannot be read; it is announced at each look
            self._announce(fault)

    async def _move_on(self, order: Order) -> None:
        try:
            await move_on(self.kit, order)
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
