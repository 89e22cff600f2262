"""Let a claim wait while its tenant has a seat for it, so that one tenant's idle machines do not keep all others out.

One read, and one write each to sit down and to leave before the end. Dying in between: the seat is free at its end.
Promise: SEM-POOL-5.
"""

from dataclasses import replace

from tickwright.domain.events import EventName
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.seats import PutSeat, Seat, free_seats
from tickwright.ports.faults import Unavailable
from tickwright.ports.store import Applied
from tickwright.services.kit import Kit

_TRIES = 3  # of seats that others have taken meanwhile


async def take_seat(kit: Kit, tenant_id: TenantId, *, wait_ms: int, most: int) -> Seat | None:
    """Sit down for so long; None if all of the tenant's seats are taken."""
    seats, now, error_ms = await kit.store.seats_of(tenant_id), kit.clock.now(), kit.durations.clock_error_ms
    for number in free_seats(seats, most, now, clock_error_ms=error_ms, draw=kit.entropy.fraction())[:_TRIES]:
        seat = Seat(tenant_id=tenant_id, number=number, token=kit.entropy.token(), until=Instant(now + wait_ms))
        if isinstance(await kit.store.write(PutSeat(seat=seat, now=now, clock_error_ms=error_ms)), Applied):
            return seat
    return None


async def leave_seat(kit: Kit, seat: Seat) -> None:
    """Let somebody else sit down, if its time is not over anyway."""
    now = kit.clock.now()
    if seat.until <= now:
        return
    try:
        left = replace(seat, until=now)
        await kit.store.write(PutSeat(seat=left, now=now, clock_error_ms=kit.durations.clock_error_ms))
    except Unavailable as fault:  # it is free at its end
        kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
