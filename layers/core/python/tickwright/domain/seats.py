"""Who of a tenant's machines may wait for work: its claims have so many seats, and a claim that waits sits on one.

Must not know how many there are, nor what is waited for. A seat is free again at its end by itself, so whoever dies
keeps none. Promise: SEM-POOL-5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal

NO_SEAT = Refusal(
    code=Code.TOO_MANY_CLAIMS,
    detail="As many claims of this tenant wait as may, and there was nothing for this one. After Retry-After, claim"
    " again; with waitSec 0 it is never refused.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One of a tenant's seats, taken until then at the latest; `token` is fresh for each claim that sits down."""

    tenant_id: TenantId
    number: int
    token: str
    until: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PutSeat:
    """Take a seat that is free, or (whoever sits on it) leave it sooner."""

    seat: Seat
    now: Instant

    def decide(self, old: Seat | None) -> Seat | None:
        """Never taken, over, or one's own."""
        free = old is None or old.until <= self.now or old.token == self.seat.token
        return self.seat if free else None

    def mine(self, old: Seat) -> bool:
        """The token is fresh for each claim."""
        return old == self.seat


def free_seats(taken: Sequence[Seat], most: int, now: Instant, draw: float) -> Sequence[int]:
    """The numbers of those that nobody sits on, beginning at one by chance: two that look at once try two seats."""
    numbers = {seat.number for seat in taken if seat.until > now}
    free = [number for number in range(most) if number not in numbers]
    first = int(draw * len(free))
    return [*free[first:], *free[:first]]
