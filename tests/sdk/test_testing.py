"""The testing helpers: a handler is called in no time, and whatever may happen to an attempt happens to it."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_type

import pytest

from tickwright_sdk import Context, Registry, RetryLater
from tickwright_sdk.payloads import BadPayload
from tickwright_sdk.results import NotKept
from tickwright_sdk.testing import FakeAttempt

registry = Registry()


@dataclass(frozen=True)
class Bill:
    """What a bill is made from."""

    account: str
    rows: int = 5


@registry.job("bill")
def bill(payload: Bill, ctx: Context) -> dict[str, int]:
    """Do a row a minute, from where the attempt before was."""
    done: int = ctx.checkpoint or 0
    for row in range(done, payload.rows):
        if ctx.sleep(60):
            return {"stopped_at": row}
        ctx.log.info("row %s", row)
        ctx.heartbeat(progress=(row + 1) / payload.rows, checkpoint=row + 1)
    return {"rows": payload.rows}


@registry.job("bill-async")
async def bill_async(payload: Bill, ctx: Context) -> int:
    """The same, on a loop; both ways to wait."""
    await asyncio.sleep(3_600)
    return payload.rows if await ctx.sleep_async(3_600) else 0


@pytest.mark.sem("SEM-SDK-14")
def test_a_handler_runs_in_no_time_on_a_clock_that_stands_still() -> None:
    """Five minutes of sleeping are five minutes of the test's clock."""
    attempt = FakeAttempt(timeout_s=600)

    receipt = attempt.run(bill, Bill("a1"))

    assert_type(receipt, dict[str, int])
    assert receipt == {"rows": 5}
    assert attempt.clock.now == datetime(2026, 12, 1, 12, 5, tzinfo=UTC)
    assert (attempt.progress, attempt.noted, len(attempt.log)) == (1.0, 5, 5)


@pytest.mark.sem("SEM-SDK-14")
def test_a_checkpoint_of_the_attempt_before_is_given() -> None:
    """And the next attempt goes on from the last that was noted, under a higher fence."""
    first = FakeAttempt(timeout_s=600)
    first.at_ask(5, first.drain)  # two asks a row: at the end of the third one's sleep

    stopped = first.run(bill, Bill("a1"))
    second = first.next_attempt()
    ended = second.run(bill, Bill("a1"))

    assert (stopped, first.noted) == ({"stopped_at": 2}, 2)
    assert (second.attempt, second.checkpoint, ended) == (2, 2, {"rows": 5})
    assert FakeAttempt(checkpoint=4).run(bill, Bill("a1")) == {"rows": 5}


@pytest.mark.sem("SEM-SDK-14")
@pytest.mark.parametrize("reason", ["cancelled", "lease_lost", "deadline", "draining"])
def test_a_handler_is_told_to_stop_for_each_reason(reason: str) -> None:
    """At the moment that the test says, and nothing is raised into it."""
    seen: list[str | None] = []

    @registry.job(f"look-{reason}")
    def look(_: object, ctx: Context) -> None:
        while not ctx.heartbeat(checkpoint="more"):
            ctx.sleep(1)
        seen.append(ctx.cancel_reason)

    attempt = FakeAttempt()
    actions = {
        "cancelled": attempt.cancel,
        "lease_lost": attempt.lose_lease,
        "deadline": attempt.expire,
        "draining": attempt.drain,
    }
    attempt.after(10.5, actions[reason])

    attempt.run(look, None)

    assert seen == [reason]
    assert attempt.clock.passed_s == 10.5


@pytest.mark.sem("SEM-SDK-14")
def test_time_runs_out_by_itself() -> None:
    """An attempt has its time limit; a wait ends with it."""
    attempt = FakeAttempt(timeout_s=150)

    assert attempt.run(bill, Bill("a1")) == {"stopped_at": 2}
    assert attempt.clock.passed_s == 150


@pytest.mark.sem("SEM-SDK-14")
def test_a_worker_that_is_cut_off_lets_go_before_its_lease_is_over() -> None:
    """From that moment nothing is noted, and a second before the lease's end the handler is told."""
    attempt = FakeAttempt(lease_s=60, timeout_s=600)
    attempt.after(90, attempt.cut_off)

    assert attempt.run(bill, Bill("a1")) == {"stopped_at": 2}
    assert attempt.clock.passed_s == 90 + 59
    assert attempt.noted == 1


@pytest.mark.sem("SEM-SDK-14")
def test_an_async_handler_waits_on_the_same_clock() -> None:
    """Its own sleeps and ours; what happens meanwhile wakes it."""
    attempt = FakeAttempt(timeout_s=86_400)
    attempt.after(5_400, attempt.cancel)

    rows = attempt.run(bill_async, Bill("a1"))

    assert_type(rows, int)
    assert rows == 5
    assert attempt.clock.passed_s == 5_400


def test_an_async_handler_may_use_threads() -> None:
    """What comes from outside the loop is waited for, and time does not pass meanwhile."""

    @registry.job("threads")
    async def threads(_: object, __: Context) -> str:
        return await asyncio.to_thread(lambda: "from outside")

    attempt = FakeAttempt()

    assert attempt.run(threads, None) == "from outside"
    assert attempt.clock.passed_s == 0


@pytest.mark.sem("SEM-SDK-14")
def test_a_payload_and_a_result_go_through_json_as_in_production() -> None:
    """What would be refused there is refused here."""

    @registry.job("raw")
    def raw(payload: dict, _: Context) -> object:  # type: ignore[type-arg]
        return payload["give"]

    assert FakeAttempt().run(raw, {"give": (1, 2)}) == [1, 2]
    with pytest.raises(BadPayload):
        FakeAttempt().run(raw, [])  # type: ignore[arg-type, misc]
    with pytest.raises(NotKept):
        FakeAttempt().run(raw, {"give": "x" * 40_000})
    with pytest.raises(BadPayload):
        FakeAttempt().run(bill, json.loads('{"account": 7}'))


def test_what_a_handler_raises_or_returns_as_its_end_is_raised() -> None:
    """A word of the closed set, returned, is the same as raised."""

    @registry.job("later")
    def later(_: object, ctx: Context) -> object:
        return ctx.retry_after(60)

    with pytest.raises(RetryLater) as raised:
        FakeAttempt().run(later, None)

    assert raised.value.after_s == 60


def test_an_attempt_is_one_call() -> None:
    """A second call on it would tell of a state that no attempt begins with."""
    attempt = FakeAttempt()
    attempt.run(bill, Bill("a1", rows=0))

    with pytest.raises(AssertionError, match="next_attempt"):
        attempt.run(bill, Bill("a1"))


def test_a_test_says_what_an_attempt_is() -> None:
    """Which attempt, which fence, which tick."""
    seen: list[Context] = []

    @registry.job("see")
    def see(_: object, ctx: Context) -> None:
        seen.append(ctx)

    tick = datetime(2026, 12, 24, 18, tzinfo=UTC)
    FakeAttempt(attempt=3, lease_epoch=9, scheduled_time=tick, max_attempts=5).run(see, None)

    [ctx] = seen
    assert (ctx.attempt, ctx.lease_epoch, ctx.max_attempts, ctx.scheduled_time) == (3, 9, 5, tick)
    assert ctx.execution_id == f"{ctx.job_id}.20261224T180000000Z"


def test_a_function_that_is_no_handler_is_refused_with_what_to_do() -> None:
    """Its payload's type is read where it is registered."""

    def plain(_payload: object, _ctx: Context) -> None: ...

    with pytest.raises(TypeError, match=r"registered handler.*@worker\.job"):
        FakeAttempt().run(plain, None)  # type: ignore[call-overload]
