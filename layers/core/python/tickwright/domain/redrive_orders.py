"""What an order to redrive many is, and how it goes on: one step at a time, each written before the next.

Must not know a store or who carries it out. An order means what was dead when it was given: whatever has been redriven
or has died since is not its business, so nothing loops. A step that redrives is one transaction with the order's own
write, fenced by its version: an execution is redriven at most once by an order, and by none that was cancelled.
Promise: SEM-DLQ-2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NewType

from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch, ExecutionRef, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State

OrderId = NewType("OrderId", str)

RATE_PER_MIN_DEFAULT = 60
RATE_PER_MIN_MAX = 600
CANARY_MAX = 25  # their names stand in the order's record, which is written at each step
LIFE_S = 7 * 86_400  # as long as a run may wait by default: a canary has ended by then
KEPT_S = 7 * 86_400  # after its end
_MINUTE_MS = 60_000
_IDLE_DOUBLINGS_MAX = 5


class OrderStatus(Enum):
    """Whether an order goes on, and if not, why. All but RUNNING are final."""

    RUNNING = "RUNNING"
    DONE = "DONE"  # all that it found has been redriven, or was refused for good
    STOPPED = "STOPPED"  # its canary died
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"  # a week was not enough


class OrderStep(Enum):
    """What is to be done with an order now."""

    WAIT = "wait"
    END = "end"
    SEARCH = "search"
    BEGIN_AGAIN = "begin_again"
    REDRIVE = "redrive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The first so many are redriven and waited for; if more of them die than may, the order stops."""

    first: int
    failures_max: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One death: an execution, and the epoch at which it was found dead. Opened or discarded, it has a later one."""

    ref: ExecutionRef
    epoch: Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A canary: which generation of which execution."""

    ref: ExecutionRef
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order to redrive what a filter finds.

    `hand` holds what was found and not dealt with yet; `after_key` is the store's own word for where the list goes on,
    and `exhausted` says that it does not. What was refused because another run of its job is unfinished counts in
    `put_off`: the list is gone through again for it, less and less often. `next_at` spreads the redrives.
    """

    tenant_id: TenantId
    order_id: OrderId
    wanted: DeadFilter
    rate_per_min: int
    created_at: Instant
    next_at: Instant
    expires_at: Instant
    canary: Canary | None = None
    version: int = 1
    write_token: str = ""
    status: OrderStatus = OrderStatus.RUNNING
    ended_at: Instant | None = None
    after_key: str | None = None
    exhausted: bool = False
    hand: tuple[Letter, ...] = ()
    redriven: int = 0
    put_off: int = 0
    refused: int = 0
    redriven_before: int = 0  # when this pass over the list began
    idle_passes: int = 0
    watched: tuple[Watched, ...] = ()
    canary_over: bool = False
    canary_ended: int = 0
    canary_died: int = 0

    @property
    def gives_up_at(self) -> Instant:
        """When it ends whatever is left."""
        return Instant(self.created_at + 1_000 * LIFE_S)

    @property
    def canary_is_out(self) -> bool:
        """Whether the canaries are all under way, so that nothing else may be redriven before they have ended."""
        if self.canary is None or self.canary_over:
            return False
        return self.redriven >= self.canary.first or (self.exhausted and not self.hand and not self.put_off)

    @property
    def reaches_until(self) -> Instant:
        """The last death that it may mean: what dies later is a new one."""
        until = self.wanted.until
        return self.created_at if until is None else min(until, self.created_at)

    def means(self, execution: Execution) -> bool:
        """Whether it is to be redriven: dead since before the order, and not opened by anybody since."""
        fresh = execution.redriven_at is not None and execution.redriven_at > self.created_at
        return not fresh and self.wanted.matches(execution) and (execution.failed_at or 0) <= self.created_at

    def opens_at(self, now: Instant) -> Instant:
        """The instant that a redrive of this order is written with: after the order's own, whoever's clock is behind.

        So `means` knows what the order itself has opened without comparing two machines' clocks.
        """
        return max(now, Instant(self.created_at + 1))


def next_step(order: Order, now: Instant) -> OrderStep:
    """What to do with an order that runs, its canaries judged."""
    assert order.status is OrderStatus.RUNNING
    if now >= order.gives_up_at:
        return OrderStep.END
    if order.canary_is_out or order.next_at > now:
        return OrderStep.WAIT
    if order.hand:
        return OrderStep.REDRIVE
    if not order.exhausted:
        return OrderStep.SEARCH
    return OrderStep.BEGIN_AGAIN if order.put_off else OrderStep.END


def found(order: Order, letters: Sequence[Letter], next_key: str | None) -> Order:
    """The order with the next part of the list in hand."""
    return replace(order, hand=tuple(letters), after_key=next_key, exhausted=next_key is None)


def dealt(order: Order, opened: Execution, now: Instant, credit_ms: int) -> Order:
    """The order once the first in hand is opened.

    Who comes late may make up for at most `credit_ms`, and the gaps are so long that no minute holds more than the
    rate even then.
    """
    gap_ms = -(-(_MINUTE_MS + credit_ms + 1) // order.rate_per_min)
    canary = order.canary is not None and not order.canary_over
    watched = Watched(ref=opened.ref, generation=opened.generation)
    return replace(
        order,
        hand=order.hand[1:],
        redriven=order.redriven + 1,
        next_at=Instant(max(order.next_at, now - credit_ms) + gap_ms),
        watched=(*order.watched, watched) if canary else (),
    )


def passed_by(order: Order, *, put_off: bool = False, refused: bool = False) -> Order:
    """The order without the first in hand, not opened: for now, for good, or since it is not dead any more."""
    return replace(
        order, hand=order.hand[1:], put_off=order.put_off + int(put_off), refused=order.refused + int(refused)
    )


def begun_again(order: Order, now: Instant, pause_ms: int) -> Order:
    """The order at the start of the list, after a pause that doubles while nothing can be opened."""
    idle = order.idle_passes + 1 if order.redriven == order.redriven_before else 0
    pause_ms <<= min(idle, _IDLE_DOUBLINGS_MAX)
    return replace(
        order,
        after_key=None,
        exhausted=False,
        put_off=0,
        refused=0,
        redriven_before=order.redriven,
        idle_passes=idle,
        next_at=max(order.next_at, Instant(now + pause_ms)),
    )


def judged(order: Order, found: Mapping[ExecutionRef, Execution], now: Instant) -> Order:
    """The order by what has become of its canaries; one whose row is gone has ended."""
    if order.canary is None or order.canary_over or order.status is not OrderStatus.RUNNING:
        return order
    ends = [_end_of(watched, found.get(watched.ref)) for watched in order.watched]
    died, over = ends.count(State.DEAD), sum(end is not None for end in ends)
    told = replace(order, canary_ended=over, canary_died=died)
    if died > order.canary.failures_max:
        return ended(told, OrderStatus.STOPPED, now)
    if order.canary_is_out and over == len(ends):
        return replace(told, canary_over=True, watched=())
    return told


def _end_of(watched: Watched, execution: Execution | None) -> State | None:
    """How a canary has ended, None while it has not; one that was opened again since had died."""
    if execution is None:
        return State.SUCCEEDED
    if execution.generation > watched.generation:
        return State.DEAD
    return execution.state if execution.is_terminal else None


def ended(order: Order, status: OrderStatus, now: Instant) -> Order:
    """The order at its end; what it had in hand stays on the list of the dead."""
    return replace(order, status=status, ended_at=now, hand=(), watched=(), expires_at=Instant(now + 1_000 * KEPT_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOrder:
    """Give an order, or write it as it is after a step: only over the version that was seen."""

    order: Order
    seen_version: int | None = None

    def decide(self, old: Order | None) -> Order | None:
        """As it was seen."""
        return self.order if self.seen_version == (None if old is None else old.version) else None

    def mine(self, old: Order) -> bool:
        """The token is fresh for each write."""
        return old.write_token == self.order.write_token
