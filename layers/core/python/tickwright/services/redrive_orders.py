"""Orders to redrive many: give, look at, cancel; and the one step after the other by which the watch carries them out.

A redrive and the order's progress are one transaction, fenced by the order's version. Whoever carries out a step dies
before it or after it; in between there is nothing. A dead watch costs time only, two of them get in each other's way
and do nothing twice. Promise: SEM-DLQ-2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tickwright.domain import limits
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId, TenantId, is_job_id
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import NO_SUCH_ORDER, Code, Refusal
from tickwright.domain.redrive_orders import (
    KEPT_S,
    LIFE_S,
    Canary,
    Letter,
    Order,
    OrderId,
    OrderStatus,
    OrderStep,
    PutOrder,
    begun_again,
    dealt,
    ended,
    found,
    judged,
    next_step,
    passed_by,
)
from tickwright.domain.tenants import IdempotencyRecord, PutIdempotency
from tickwright.ports.store import Applied, Refused
from tickwright.services.dead_letters import those_meant
from tickwright.services.kit import Kit
from tickwright.services.redrive import Opening, an_opening, announce, open_head_of
from tickwright.services.submit import RequestKey, note_of, reused

STEPS_A_LOOK = 200  # of one order: at the highest rate some ninety are redriven in a look of ten seconds
_SEARCHES_A_LOOK = 20  # of two pages of fifty: a filter that means few of many must not hold up the journal
_PAGES_A_SEARCH = 2
_HAND = 50
_TRIES = 4  # of a cancel against a watch that moves the order on


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What is asked for: which, how fast, and how carefully."""

    wanted: DeadFilter
    rate_per_min: int
    canary: Canary | None = None


async def order_redrive(kit: Kit, tenant_id: TenantId, ordered: Ordered, request: RequestKey) -> Order | Refusal:
    """Give an order; once for a request key. It begins with the next look of the watch."""
    noted = await kit.store.idempotency(tenant_id, request.key)
    if noted is not None and noted.counts(kit.clock.now()):
        return await _replay(kit, noted, request)
    if (refusal := await _too_many(kit, tenant_id)) is not None:
        return refusal
    order = _new_order(kit, tenant_id, ordered)
    record = note_of(kit, tenant_id, request, JobId(order.order_id), answer=order.order_id)
    outcomes = await kit.store.write_together(
        [PutIdempotency(record=record, now=order.created_at), PutOrder(order=order)]
    )
    if all(isinstance(outcome, Applied) for outcome in outcomes):
        kit.emit(EventName.REDRIVE_ORDERED, tenantId=tenant_id, orderId=order.order_id)
        return order
    match outcomes[0]:
        case Refused(old=IdempotencyRecord() as rival) if rival.counts(kit.clock.now()):
            return await _replay(kit, rival, request)
        case _:
            detail = "The same request is in progress; repeat it with the same key."
            return Refusal(code=Code.IDEMPOTENCY_IN_PROGRESS, detail=detail)


async def _replay(kit: Kit, noted: IdempotencyRecord, request: RequestKey) -> Order | Refusal:
    if (refusal := reused(noted, request)) is not None:
        return refusal
    return await get_order(kit, noted.tenant_id, noted.answer)


async def _too_many(kit: Kit, tenant_id: TenantId) -> Refusal | None:
    """Two that are given at once may both find room for one, and it is not worth a write to each."""
    kept = await list_orders(kit, tenant_id)
    running = [order for order in kept if order.status is OrderStatus.RUNNING]
    if len(running) < limits.ORDERS_OPEN_MAX and len(kept) < limits.ORDERS_KEPT_MAX:
        return None
    most = f"{limits.ORDERS_OPEN_MAX} may run at a time, and {limits.ORDERS_KEPT_MAX} be given in a week"
    detail = f"{len(running)} orders are running and {len(kept)} are kept; {most}. Cancel one, or wait for its end."
    return Refusal(code=Code.TOO_MANY_ORDERS, detail=detail)


def _new_order(kit: Kit, tenant_id: TenantId, ordered: Ordered) -> Order:
    now = kit.clock.now()
    return Order(
        tenant_id=tenant_id,
        order_id=OrderId(kit.entropy.token()),
        wanted=ordered.wanted,
        rate_per_min=ordered.rate_per_min,
        canary=ordered.canary,
        created_at=now,
        next_at=Instant(now - kit.durations.watch_ms),  # as one who comes a look late: a small order is done at once
        expires_at=Instant(now + 1_000 * (LIFE_S + KEPT_S)),
        write_token=kit.entropy.token(),
    )


async def get_order(kit: Kit, tenant_id: TenantId, order_id: str) -> Order | Refusal:
    """One order and how far it is."""
    order = await kit.store.redrive_order(tenant_id, OrderId(order_id)) if is_job_id(order_id) else None
    return order or NO_SUCH_ORDER


async def list_orders(kit: Kit, tenant_id: TenantId) -> Sequence[Order]:
    """A tenant's orders, newest first; there are not so many that they would need pages."""
    page = await kit.store.redrive_orders(tenant_id, limit=2 * limits.ORDERS_KEPT_MAX)
    mine = [order for order in page.items if order.tenant_id == tenant_id]
    return sorted(mine, key=lambda order: (order.created_at, order.order_id), reverse=True)


async def cancel_order(kit: Kit, tenant_id: TenantId, order_id: str) -> Order | Refusal:
    """End an order: once this is answered, nothing more is redriven by it."""
    for _ in range(_TRIES):
        order = await get_order(kit, tenant_id, order_id)
        if isinstance(order, Refusal) or order.status is OrderStatus.CANCELLED:
            return order
        if order.status is not OrderStatus.RUNNING:
            detail = f"The order is {order.status.value}; there is nothing left to cancel."
            return Refusal(code=Code.ORDER_OVER, detail=detail)
        written = await _put(kit, order, ended(order, OrderStatus.CANCELLED, kit.clock.now()))
        if written is not None:
            return written
    return Refusal(code=Code.UNFINISHED, detail="The order is being carried out at this moment; repeat the request.")


async def move_on(kit: Kit, order: Order, *, budget_ms: int | None = None) -> Order:
    """Carry an order out as far as it may go now, or for so long and one step at least; how it stands then."""
    searches, began_ms = 0, kit.clock.monotonic_ms()
    for number in range(STEPS_A_LOOK):
        if number and budget_ms is not None and kit.clock.monotonic_ms() - began_ms >= budget_ms:
            return order
        moved = await _with_canaries_judged(kit, order)
        if moved is None or moved.status is not OrderStatus.RUNNING:
            return moved or order
        order, step = moved, next_step(moved, kit.clock.now())
        searches += int(step is OrderStep.SEARCH)
        if step is OrderStep.WAIT or searches > _SEARCHES_A_LOOK:
            return order
        moved = await _step(kit, order, step)
        if moved is None or moved.status is not OrderStatus.RUNNING:
            return moved or order
        order = moved
    return order


async def _with_canaries_judged(kit: Kit, order: Order) -> Order | None:
    if order.canary is None or order.canary_over or not (order.watched or order.canary_is_out):
        return order
    rows = await kit.store.executions([watched.ref for watched in order.watched])
    told = judged(order, rows, kit.clock.now())
    return order if told == order else await _put(kit, order, told)


async def _step(kit: Kit, order: Order, step: OrderStep) -> Order | None:
    """One step; None if another has moved the order on meanwhile, and this one is left to it."""
    now = kit.clock.now()
    match step:
        case OrderStep.END:
            expired = now >= order.gives_up_at
            return await _put(kit, order, ended(order, OrderStatus.EXPIRED if expired else OrderStatus.DONE, now))
        case OrderStep.SEARCH:
            return await _search(kit, order)
        case OrderStep.BEGIN_AGAIN:
            return await _put(kit, order, begun_again(order, now, kit.durations.watch_ms))
        case OrderStep.REDRIVE:
            return await _redrive_first(kit, order)
        case OrderStep.WAIT:
            return order


async def _search(kit: Kit, order: Order) -> Order | None:
    """Take the next part of the list in hand."""
    wanted, after_key, meant = order.wanted, order.after_key, list[Execution]()
    for _ in range(_PAGES_A_SEARCH):
        page = await kit.store.attention_eventually(
            order.tenant_id, limit=_HAND, since=wanted.since, until=order.reaches_until, after_key=after_key
        )
        after_key = page.next_key
        meant = [row for row in await those_meant(kit, order.tenant_id, wanted, page.items) if order.means(row)]
        if meant or after_key is None:
            break
    return await _put(
        kit, order, found(order, [Letter(ref=row.ref, epoch=row.lease_epoch) for row in meant], after_key)
    )


async def _redrive_first(kit: Kit, order: Order) -> Order | None:
    """Open the first in hand, if it is as it was found and its job lets it start."""
    letter = order.hand[0]
    row = await kit.store.execution(letter.ref)
    if row is None or row.lease_epoch != letter.epoch or not order.means(row):
        return await _put(kit, order, passed_by(order))
    head = await open_head_of(kit, row)
    if isinstance(head, Refusal):
        return await _put(kit, order, _refused(order, head))
    opening = await an_opening(kit, head, row, order.opens_at(kit.clock.now()))
    if isinstance(opening, Refusal):
        return await _put(kit, order, _refused(order, opening))
    return await _opened(kit, order, opening)


def _refused(order: Order, refusal: Refusal) -> Order:
    """What may be done later is, and what may not is counted."""
    return passed_by(order, put_off=refusal.retryable, refused=not refusal.retryable)


async def _opened(kit: Kit, order: Order, opening: Opening) -> Order | None:
    new = _next(kit, order, dealt(order, opening.opened, kit.clock.now(), kit.durations.watch_ms))
    mine = PutOrder(order=new, seen_version=order.version)
    outcomes = await kit.store.write_together([mine, *opening.writes])
    if all(isinstance(outcome, Applied) for outcome in outcomes):
        await announce(kit, opening)
        return new
    current = await kit.store.redrive_order(order.tenant_id, order.order_id)
    if current is None or current.version != order.version:
        return None
    return await _put(kit, order, passed_by(order, put_off=True))  # the job or the execution was changed meanwhile


def _next(kit: Kit, order: Order, moved: Order) -> Order:
    return replace(moved, version=order.version + 1, write_token=kit.entropy.token())


async def _put(kit: Kit, order: Order, moved: Order) -> Order | None:
    """Write the order over what was seen; None if it has been moved on since."""
    new = _next(kit, order, moved)
    if not isinstance(await kit.store.write(PutOrder(order=new, seen_version=order.version)), Applied):
        return None
    if new.status is not OrderStatus.RUNNING:
        about = {"tenantId": new.tenant_id, "orderId": new.order_id, "status": new.status.value}
        kit.emit(EventName.REDRIVE_ORDER_ENDED, measured={"redriven": new.redriven}, **about)
    return new
