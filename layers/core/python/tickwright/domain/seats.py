"""Who of a tenant's machines may wait for work: its claims have so many seats, and a claim that waits sits on one.

Must not know how many there are, nor what is waited for. A seat is free again at its end by itself, so whoever dies
keeps none; and one whose end lies further ahead than any wait was taken by a clock that was wrong. Promise: SEM-POOL-5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tickwright.domain import limits
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

    def is_taken(self, now: Instant, clock_error_ms: int) -> bool:
        """Whether somebody may sit on it still."""
        return now < self.until <= furthest_end(now, clock_error_ms)


def furthest_end(now: Instant, clock_error_ms: int) -> Instant:
    """The latest end that a claim can have meant which sits down now, by whatever clock."""
    return Instant(now + 1_000 * limits.CLAIM_WAIT_S_MAX + 2 * clock_error_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutSeat:
    """Take a seat that is free, or (whoever sits on it) leave it sooner."""

    seat: Seat
    now: Instant
    clock_error_ms: int

    def decide(self, old: Seat | None) -> Seat | None:
        """Never taken, free again, or one's own."""
        free = old is None or not old.is_taken(self.now, self.clock_error_ms) or old.token == self.seat.token
        return self.seat if free else None

    def mine(self, old: Seat) -> bool:
        """The token is fresh for each claim."""
        return old == self.seat


def free_seats(seats: Sequence[Seat], most: int, now: Instant, *, clock_error_ms: int, draw: float) -> Sequence[int]:
    """The numbers of those that nobody sits on, beginning at one by chance: two that look at once try two seats."""
    taken = {seat.number for seat in seats if seat.is_taken(now, clock_error_ms)}
    free = [number for number in range(most) if number not in taken]
    first = int(draw * len(free))
    return [*free[first:], *free[:first]]
