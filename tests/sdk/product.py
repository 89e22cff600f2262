"""The product on one SQLite file in memory, served over HTTP inside the test, with leases of a few seconds."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.api.call import Api
from tickwright.api.keys import make_key
from tickwright.api.server import HttpServer
from tickwright.domain.ids import TenantId
from tickwright.domain.tenants import Scope
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.services.kit import Kit
from tickwright.wiring.embedded import embedded_kit
from tickwright_sdk.client import Client

T = TypeVar("T")
SECONDS = 60
SCALE = 0.05  # a lease of three seconds, a heartbeat each 0.75
# The next attempt as soon as the one before is over.
AT_ONCE = {"maxAttempts": 3, "backoff": {"initialSec": 0, "maxSec": 0}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Where it is, and a client that tells what has become of things."""

    kit: Kit
    url: str
    key: str
    client: Client

    async def ask(self, call: Callable[[], T]) -> T:
        """Call the API from a thread: it answers on the test's own loop."""
        return await asyncio.to_thread(call)

    async def run_now(self, pool: str, payload: object = None, **more: object) -> str:
        """A job of the pool's handler `work`, run now; the execution's id."""
        target = {"type": "pool", "pool": pool, "handler": "work"}
        job = {"schedule": {"cron": "0 0 1 1 *"}, "target": target, "payload": payload, "retryPolicy": AT_ONCE, **more}
        job_id = (await self.ask(lambda: self.client.submit(job)))["jobId"]
        execution: str = (await self.ask(lambda: self.client.run(job_id)))["executionId"]
        return execution

    async def until(self, execution_id: str, *statuses: str) -> dict[str, Any]:
        """The execution, once it has one of these."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = await self.ask(lambda: self.client.execution(execution_id))
                if found["status"] in statuses:
                    return found
                await asyncio.sleep(0.05)


@asynccontextmanager
async def a_product() -> AsyncIterator[Product]:
    """Until the end of the block; the pool `gpu` is there."""
    stop = asyncio.Event()
    async with embedded_kit(None, MemoryTelemetry(), scale=SCALE) as kit:
        scopes = frozenset(Scope) - {Scope.ADMIN}
        key, _ = await make_key(kit, TenantId("acme"), scopes=scopes, label="test")
        server = HttpServer(Api(kit=kit, page_secret=b"secret of a test"), port=0)
        await server.start()
        loops = [
            asyncio.create_task(SchedulerLoop(kit, owner="test", alone=True).run(stop)),
            asyncio.create_task(WatchLoop(kit).run(stop)),
        ]
        try:
            with Client(server.url, key) as client:
                product = Product(kit=kit, url=server.url, key=key, client=client)
                await product.ask(lambda: client.put_pool("gpu"))
                yield product
        finally:
            stop.set()
            await asyncio.gather(*loops)
            await server.stop()
