"""How an order goes on, step by step: what it means, when it waits, when its canary stops it, and how it is paced."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import ORDER_ID, TENANT, TICK, a_job_id, a_ref, an_execution
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Discarded, ErrorSummary, Execution, Reason
from tickwright.domain.ids import Epoch
from tickwright.domain.instants import Instant
from tickwright.domain.redrive_orders import (
    LIFE_S,
    Canary,
    Letter,
    Order,
    OrderId,
    OrderStatus,
    OrderStep,
    Watched,
    begun_again,
    dealt,
    ended,
    found,
    judged,
    next_step,
    passed_by,
)
from tickwright.domain.transitions import State

MINUTE = 60_000
CREDIT_MS = 10_000
GIVEN = Instant(TICK + 100_000)


def an_order(**shown: Any) -> Order:  # noqa: ANN401 - any field of the class
    """One that was given at GIVEN and means all."""
    given_so: dict[str, Any] = {
        "tenant_id": TENANT,
        "order_id": OrderId(ORDER_ID),
        "wanted": DeadFilter(),
        "rate_per_min": 60,
        "created_at": GIVEN,
        "next_at": GIVEN,
        "expires_at": Instant(GIVEN + 10**9),
    }
    return Order(**(given_so | shown))


def a_letter(number: int = 0) -> Letter:
    return Letter(ref=a_ref(number), epoch=Epoch(1))


def a_dead(**shown: Any) -> Execution:  # noqa: ANN401 - any field of the class
    return an_execution(**({"state": State.DEAD, "failed_at": TICK} | shown))


def opened(number: int = 0) -> Execution:
    """One that has just been redriven."""
    return an_execution(job_id=a_job_id(number), generation=2, lease_epoch=2, attempt=1)


@pytest.mark.sem("SEM-DLQ-2")
@pytest.mark.parametrize(
    ("execution", "is_meant"),
    [
        (a_dead(), True),
        (a_dead(failed_at=GIVEN), True),
        (a_dead(failed_at=Instant(GIVEN + 1)), False),  # a new death
        (a_dead(redriven_at=TICK), True),  # long before the order
        (a_dead(redriven_at=GIVEN), True),
        (a_dead(redriven_at=Instant(GIVEN + 1)), False),  # by this order, or by somebody else since
        (a_dead(failed_at=None, discarded=Discarded(at=TICK, reason="no")), False),
        (an_execution(state=State.RUNNING), False),
    ],
)
def test_an_order_means_what_was_dead_when_it_was_given(execution: Execution, *, is_meant: bool) -> None:
    """Nothing loops, whatever clocks say: its own redrives are later than it is."""
    order = an_order()

    assert order.means(execution) is is_meant
    assert order.opens_at(Instant(GIVEN - 5_000)) > order.created_at
    assert order.opens_at(Instant(GIVEN + 5_000)) == GIVEN + 5_000


@pytest.mark.sem("SEM-DLQ-1")
@pytest.mark.parametrize(
    ("wanted", "is_meant"),
    [
        (DeadFilter(), True),
        (DeadFilter(job_id=a_job_id()), True),
        (DeadFilter(job_id=a_job_id(1)), False),
        (DeadFilter(fingerprint="f"), True),
        (DeadFilter(fingerprint="g"), False),
        (DeadFilter(error_class="E", since=TICK, until=TICK), True),
        (DeadFilter(error_class="F"), False),
        (DeadFilter(reason=Reason.POOL_DELETED), False),
        (DeadFilter(since=Instant(TICK + 1)), False),
        (DeadFilter(until=Instant(TICK - 1)), False),
    ],
)
def test_a_filter_means_what_agrees_with_all_that_it_says(wanted: DeadFilter, *, is_meant: bool) -> None:
    """What it says nothing of does not matter; both ends belong to the range."""
    error = ErrorSummary(error_class="E", message="m", fingerprint="f")

    assert wanted.matches(a_dead(error=error)) is is_meant


@pytest.mark.parametrize(
    ("shown", "step"),
    [
        ({}, OrderStep.SEARCH),
        ({"hand": (a_letter(),)}, OrderStep.REDRIVE),
        ({"hand": (a_letter(),), "next_at": Instant(GIVEN + 1)}, OrderStep.WAIT),
        ({"exhausted": True}, OrderStep.END),
        ({"exhausted": True, "put_off": 1}, OrderStep.BEGIN_AGAIN),
        ({"hand": (a_letter(),), "canary": Canary(first=2), "redriven": 1}, OrderStep.REDRIVE),
        ({"hand": (a_letter(),), "canary": Canary(first=2), "redriven": 2}, OrderStep.WAIT),
        ({"hand": (a_letter(),), "canary": Canary(first=2), "redriven": 2, "canary_over": True}, OrderStep.REDRIVE),
        ({"exhausted": True, "canary": Canary(first=2), "redriven": 1}, OrderStep.WAIT),
        ({"exhausted": True, "canary": Canary(first=2), "redriven": 1, "put_off": 1}, OrderStep.BEGIN_AGAIN),
    ],
)
def test_there_is_one_next_step(shown: dict[str, Any], step: OrderStep) -> None:
    """And after a week there is none but the end."""
    order = an_order(**shown)

    assert next_step(order, GIVEN) is step
    assert next_step(order, Instant(GIVEN + 1_000 * LIFE_S)) is OrderStep.END


@pytest.mark.sem("SEM-DLQ-2")
@pytest.mark.parametrize(
    ("states", "status", "is_over"),
    [
        ((State.SUCCEEDED, State.RUNNING), OrderStatus.RUNNING, False),
        ((State.SUCCEEDED, State.SUCCEEDED), OrderStatus.RUNNING, True),
        ((State.DEAD, State.CANCELLED), OrderStatus.RUNNING, True),
        ((State.DEAD, State.RETRY), OrderStatus.RUNNING, False),
        ((State.DEAD, State.DEAD), OrderStatus.STOPPED, False),
        ((None, State.SUCCEEDED), OrderStatus.RUNNING, True),  # forgotten, so it had ended
    ],
)
def test_canaries_are_judged_by_their_ends(
    states: tuple[State | None, ...], status: OrderStatus, *, is_over: bool
) -> None:
    """One may die here: with two the order stops, and with all others it waits until each has ended."""
    watched = tuple(Watched(ref=a_ref(number), generation=2) for number in range(2))
    order = an_order(canary=Canary(first=2, failures_max=1), redriven=2, watched=watched, hand=(a_letter(9),))
    rows = {
        a_ref(number): an_execution(job_id=a_job_id(number), state=state, generation=2, lease_epoch=2)
        for number, state in enumerate(states)
        if state is not None
    }

    told = judged(order, rows, GIVEN)

    assert (told.status, told.canary_over) == (status, is_over)
    assert (told.hand == ()) == (status is OrderStatus.STOPPED)


@pytest.mark.sem("SEM-DLQ-2")
def test_a_canary_that_was_opened_again_had_died() -> None:
    """Somebody has looked after it meanwhile; that it runs now says nothing of what the order did."""
    order = an_order(canary=Canary(first=1), redriven=1, watched=(Watched(ref=a_ref(), generation=2),))
    row = an_execution(state=State.RUNNING, generation=3, lease_epoch=4)

    assert judged(order, {row.ref: row}, GIVEN).status is OrderStatus.STOPPED


@pytest.mark.sem("SEM-DLQ-2")
@given(
    rate=st.integers(1, 600),
    gaps=st.lists(st.sampled_from([0, 1, 50, 999, 10_000, 11_000, 59_000]), min_size=1, max_size=60),
)
def test_no_minute_holds_more_than_the_rate_whenever_somebody_looks(rate: int, gaps: list[int]) -> None:
    """All that may go at each look goes."""
    order = an_order(rate_per_min=rate, next_at=Instant(GIVEN - CREDIT_MS), hand=(a_letter(),) * 2_000)
    now, times = int(GIVEN), list[int]()
    for gap in gaps:
        now += gap
        while order.next_at <= now and order.hand:
            times.append(now)
            order = dealt(order, opened(), Instant(now), CREDIT_MS)

    assert times
    assert max(sum(at <= other < at + MINUTE for other in times) for at in set(times)) <= rate


def test_what_is_passed_by_is_out_of_hand_and_counted() -> None:
    """For now, for good, or because there is nothing to do."""
    order = an_order(hand=(a_letter(1), a_letter(2)))

    assert passed_by(order) == replace(order, hand=(a_letter(2),))
    assert passed_by(order, put_off=True) == replace(order, hand=(a_letter(2),), put_off=1)
    assert passed_by(order, refused=True) == replace(order, hand=(a_letter(2),), refused=1)


def test_the_list_is_gone_through_again_less_and_less_often() -> None:
    """Ten seconds after a pass that opened something; after others twice as long each time, and never over 320 s."""
    order = an_order(exhausted=True, put_off=2, redriven=3)
    pauses = []
    for _ in range(8):
        again = begun_again(order, GIVEN, 10_000)
        pauses.append(again.next_at - GIVEN)
        order = replace(found(again, [], None), put_off=2, next_at=GIVEN)

    assert pauses == [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 320_000, 320_000]


def test_an_order_that_has_ended_holds_nothing_and_is_kept_for_a_week() -> None:
    """What it had in hand stands on the list of the dead, as it did all the time."""
    order = ended(an_order(hand=(a_letter(),)), OrderStatus.CANCELLED, GIVEN)

    assert (order.hand, order.watched, order.ended_at) == ((), (), GIVEN)
    assert order.expires_at == GIVEN + 7 * 86_400_000
