"""A worker that pulls and is short of something: of threads, of an answer to a heartbeat, of text that can be sent."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sdk.pool import Pool, a_claim, a_pool
from tests.sdk.scripted import Asked, Says, problem
from tests.sdk.test_pull import SECONDS, pulling, until
from tickwright_sdk.context import Context
from tickwright_sdk.hands import Hands, NoRoom
from tickwright_sdk.kept import KeptAttempt
from tickwright_sdk.results import Result, Succeeded


@pytest.fixture
def pool() -> Iterator[Pool]:
    """An empty pool."""
    with a_pool() as one:
        yield one


async def test_a_heartbeat_that_is_under_way_is_waited_for_at_rest(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer wakes the worker; looking for it again and again would cost a processor."""
    looks = [0]
    look = KeptAttempt._reason  # noqa: SLF001 - once for each time that it wakes

    def counted(kept: KeptAttempt) -> str | None:
        looks[0] += 1
        return look(kept)

    monkeypatch.setattr(KeptAttempt, "_reason", counted)
    pool.ready.append(a_claim(beat_s=0.2, lease_s=10))
    gate = threading.Event()
    pool.beats = lambda _: Says(status=200 if gate.wait(1) else 503, body={"extendUntil": "2026-12-01T12:00:00Z"})

    async with pulling(pool, lambda _, __: gate.wait(SECONDS)):
        await until(lambda: len(pool.told("heartbeat")) == 2)
        gate.set()
        await until(pool.reports)

    assert looks[0] < 20


@pytest.mark.sem("SEM-SDK-6")
async def test_what_found_no_thread_in_its_time_was_not_run(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not called: that it is out of time is no failure of its own."""

    async def call(_hands: Hands, _job: object, _payload: str, context: Context, **_: object) -> NoRoom:
        await context.sleep_async(SECONDS)
        return NoRoom()

    monkeypatch.setattr(Hands, "call", call)
    pool.ready.append(a_claim(beat_s=0.3, lease_s=2, time_s=0.5))

    async with pulling(pool, lambda _, __: None):
        await until(pool.reports)

    assert [kind for _, kind, _ in pool.reports()] == ["notRun"]


async def test_a_report_that_cannot_be_sent_is_sent_without_its_text(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is done: left without a report it would be done again."""

    async def call(*_: object, **__: object) -> Result:
        return Succeeded(result='"\\ud800"')

    monkeypatch.setattr(Hands, "call", call)
    pool.ready.append(a_claim())

    async with pulling(pool, lambda _, __: None):
        await until(pool.reports)

    assert pool.reports() == [("e1", "complete", {"leaseEpoch": 1})]


@pytest.mark.sem("SEM-SDK-6")
async def test_no_more_is_claimed_than_threads_are_left_for(pool: Pool) -> None:
    """What it could only give back is left to other workers, until the code that keeps its threads has ended."""
    pool.ready.extend(a_claim(number, time_s=0.3) for number in range(4))
    gate = threading.Event()

    def work(payload: Any, _: Context) -> None:  # noqa: ANN401 - JSON
        if payload["n"] < 4:
            gate.wait(SECONDS)

    async with pulling(pool, work, concurrency=4) as puller:
        await until(lambda: len(pool.reports()) == 4 and not puller.runs)
        pool.ready.append(a_claim(4))
        asked = len(pool.told("claim"))
        await asyncio.wait({asyncio.create_task(asyncio.to_thread(gate.wait, 1))}, timeout=1.5)
        asked_meanwhile = len(pool.told("claim")) - asked
        gate.set()
        await until(lambda: len(pool.reports()) == 5)

    assert asked_meanwhile == 0
    assert [kind for execution, kind, _ in pool.reports() if execution == "e4"] == ["complete"]


@pytest.mark.sem("SEM-SDK-13", "SEM-POOL-3")
async def test_a_poll_that_a_stop_cuts_off_is_closed(pool: Pool) -> None:
    """The API may hold it still: what it is granted there must not wait for a lease to end."""
    called: list[object] = []
    polled, released = threading.Event(), threading.Event()

    def holds(asked: Asked) -> None:
        if asked.body["waitSec"]:
            polled.set()
            released.wait(SECONDS)
            pool.ready.append(a_claim())

    pool.claims = holds
    async with pulling(pool, lambda _, __: called.append(1), wait_s=20, grace_s=60) as pulled:
        await until(polled.is_set)
        pulled.stop.set()
        pulled.puller.let_go()
    released.set()

    held, last = [asked.body for asked in pool.told("claim")][-2:]
    assert (held["requestId"], held["waitSec"], "close" in held) == (last["requestId"], 20, False)
    assert (last["close"], last["waitSec"], called) == (True, 0, [])


@pytest.mark.sem("SEM-CANCEL-4", "SEM-SDK-11")
async def test_a_cancelled_run_in_a_thread_that_does_not_stop_is_left_to_its_lease(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    """It has not stopped, and is not said to have: whoever takes its place would begin beside it."""
    begun, free = threading.Event(), threading.Event()

    def deaf(_: object, _ctx: Context) -> None:
        begun.set()
        free.wait(SECONDS)

    pool.ready.append(a_claim())
    pool.beats = lambda _: problem(409, "cancelled")
    async with pulling(pool, deaf) as pulled:
        await until(begun.is_set)
        await until(lambda: pulled.runs == 0)
    free.set()

    assert pool.reports() == []
    assert "'work' does not stop, and is left to its lease" in caplog.text
