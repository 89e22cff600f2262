"""How a loop waits for its next turn without making a stop wait for it.

Must not know which loop.
"""

import asyncio

from tickwright.services.kit import Kit


async def sleep_or_stop(kit: Kit, stop: asyncio.Event, left_ms: int) -> None:
    """Wait so long on the kit's clock, or until `stop` is set."""
    sleeping = asyncio.ensure_future(kit.clock.sleep_ms(left_ms))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sleeping.cancel()
        stopping.cancel()
