"""A worker that pulls, against a pool that answers as the API does: what it claims, keeps, reports and gives back."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.sdk.computing import where
from tests.sdk.pool import Pool, a_claim, a_pool, lost
from tests.sdk.scripted import Asked, Says, problem
from tickwright_sdk.client import Client
from tickwright_sdk.context import Context
from tickwright_sdk.handlers import Registry
from tickwright_sdk.hands import Hands
from tickwright_sdk.problems import WorkerRefused
from tickwright_sdk.pull import Puller, Pulling
from tickwright_sdk.results import Fatal, RetryLater

SECONDS = 20


@pytest.fixture
def pool() -> Iterator[Pool]:
    """An empty pool."""
    with a_pool() as one:
        yield one


@dataclass(frozen=True, slots=True)
class Pulled:
    """A worker that pulls, and the way to stop it."""

    puller: Puller
    stop: asyncio.Event

    @property
    def runs(self) -> int:
        """How many go on."""
        return self.puller.going_on


@asynccontextmanager
async def pulling(pool: Pool, work: Callable[[Any, Context], object], **how: float) -> AsyncIterator[Pulled]:
    """A worker with one handler, until the end of the block; it is stopped there if it still pulls."""
    registry, hands, stop = Registry(), Hands(threads=4), asyncio.Event()
    registry.job("work")(work)
    settings = replace(Pulling(pool="p", worker_id="w1", wait_s=1, grace_s=5.0), **how)  # type: ignore[arg-type]
    with Client(pool.server.url, "tw_key", wait=lambda _: None) as client:
        puller = Puller(client, registry, hands, settings)
        running = asyncio.create_task(puller.run(stop))
        try:
            yield Pulled(puller, stop)
        finally:
            stop.set()
            await asyncio.wait_for(running, SECONDS)
            await hands.close()


async def until(true: Callable[[], object]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - another thread's progress is only to be polled
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("work", "kind", "said"),
    [
        (lambda p, _: p, "complete", {"result": {"n": 1}}),
        (lambda _, __: None, "complete", {}),
        (lambda _, __: 1 / 0, "failure", {}),
        (lambda _, __: Fatal("no"), "fatal", {}),
        (lambda _, __: Fatal("bad \udcff"), "fatal", {}),
        (lambda _, __: RetryLater(7), "retryLater", {"afterSec": 7}),
        (
            lambda _, __: RetryLater(7, "the bank is closed"),
            "retryLater",
            {"afterSec": 7, "error": {"class": "RetryLater", "message": "the bank is closed"}},
        ),
        (lambda _, __: RetryLater(float("inf")), "retryLater", {"afterSec": 604_800}),
    ],
)
async def test_a_claimed_execution_is_called_and_its_end_reported(
    pool: Pool, work: Callable[[Any, Context], object], kind: str, said: dict[str, Any]
) -> None:
    """Each result of the closed set goes to the API under its epoch."""
    pool.ready.append(a_claim())

    async with pulling(pool, work):
        await until(pool.reports)

    [(execution, reported, body)] = pool.reports()
    assert (execution, reported, body["leaseEpoch"]) == ("e1", kind, 1)
    assert body.items() >= said.items()
    assert kind not in {"failure", "fatal"} or body["error"]["class"] in {"ZeroDivisionError", "Fatal"}


async def test_a_handler_is_told_what_was_claimed(pool: Pool) -> None:
    """Ids, the fence, and the checkpoint of the attempt before."""
    seen: list[Context] = []
    pool.ready.append(a_claim(attempt=2, leaseEpoch=5, checkpoint={"row": 7}))

    async with pulling(pool, lambda _, ctx: seen.append(ctx)):
        await until(pool.reports)

    [ctx] = seen
    assert (ctx.execution_id, ctx.lease_epoch, ctx.attempt, ctx.checkpoint) == ("e1", 5, 2, {"row": 7})
    assert pool.reports()[0][2]["leaseEpoch"] == 5


@pytest.mark.sem("SEM-SDK-17")
async def test_a_run_that_may_end_its_worker_is_called_in_a_child(pool: Pool) -> None:
    """As the claim says; what it does there costs nobody else's run."""
    pool.ready.extend(
        [a_claim(1, payload=None), a_claim(2, payload=None, alone=True), a_claim(3, payload="kill", alone=True)]
    )

    async with pulling(pool, where):
        await until(lambda: len(pool.reports()) == 3)

    ended = {execution: (kind, body) for execution, kind, body in pool.reports()}
    assert ended["e1"][1]["result"] == os.getpid()
    assert ended["e2"][0] == "complete"
    assert ended["e2"][1]["result"] != os.getpid()
    assert (ended["e3"][0], ended["e3"][1]["error"]["class"]) == ("failure", "ChildKilled")


async def test_no_more_is_claimed_than_there_are_places_for(pool: Pool) -> None:
    """Two at a time, whatever the pool has."""
    pool.ready.extend(a_claim(number) for number in range(5))
    gate, most, now = threading.Event(), [0], [0]

    def work(_: object, __: Context) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        gate.wait(SECONDS)
        now[0] -= 1

    async with pulling(pool, work, concurrency=2) as puller:
        await until(lambda: now[0] == 2)
        claimed = len(pool.told("claim"))
        gate.set()
        await until(lambda: len(pool.reports()) == 5)

    assert most[0] == 2
    assert {asked.body["max"] for asked in pool.told("claim")} <= {1, 2}
    assert claimed >= 1
    assert puller.runs == 0


@pytest.mark.sem("SEM-SDK-11")
async def test_a_lease_is_kept_while_a_handler_blocks(pool: Pool) -> None:
    """It calls nothing of ours for two leases; heartbeats go on underneath, and its result counts."""
    pool.ready.append(a_claim(beat_s=0.2, lease_s=2))
    gate = threading.Event()

    async with pulling(pool, lambda _, __: gate.wait(SECONDS)):
        await until(lambda: len(pool.told("heartbeat")) >= 20)
        gate.set()
        await until(pool.reports)

    assert pool.reports()[0][:2] == ("e1", "complete")
    assert pool.told("heartbeat")[0].body == {"workerId": "w1", "leaseEpoch": 1}


@pytest.mark.sem("SEM-SDK-11")
@pytest.mark.parametrize(
    ("code", "reason", "reported"),
    [("lease_lost", "lease_lost", []), ("cancelled", "cancelled", ["complete"]), ("deadline", "deadline", ["failure"])],
)
async def test_a_refused_heartbeat_stops_the_handler_with_its_reason(
    pool: Pool, code: str, reason: str, reported: list[str]
) -> None:
    """A lost lease is another's: nothing is reported of it. A cancelled run is told to have stopped."""
    pool.ready.append(a_claim())
    pool.beats = lambda _: problem(409, code)
    seen: list[str | None] = []

    def work(_: object, ctx: Context) -> None:
        while not ctx.cancelled:
            ctx.sleep(5)
        seen.append(ctx.cancel_reason)

    async with pulling(pool, work) as puller:
        await until(lambda: seen)
        await until(lambda: puller.runs == 0)

    assert seen == [reason]
    assert [kind for _, kind, _ in pool.reports()] == reported


@pytest.mark.sem("SEM-SDK-11")
async def test_a_worker_that_no_heartbeat_gets_through_lets_go_before_its_lease_is_over(pool: Pool) -> None:
    """By its own monotonic clock; nobody tells it."""
    pool.ready.append(a_claim(beat_s=0.1, lease_s=0.6))
    pool.beats = lambda _: Says(cut=True)
    loop, stopped_s = asyncio.get_running_loop(), []
    begun_s = loop.time()

    async def work(_: object, ctx: Context) -> None:
        await ctx.sleep_async(SECONDS)
        stopped_s.append(loop.time() - begun_s)
        assert ctx.cancel_reason == "lease_lost"

    async with pulling(pool, work) as puller:
        await until(lambda: stopped_s and puller.runs == 0)

    assert len(pool.told("heartbeat")) >= 3
    assert pool.reports() == []
    assert 0.3 < stopped_s[0] < 5


async def test_an_attempt_ends_with_its_time(pool: Pool) -> None:
    """Live heartbeats do not save hung code, and it is reported as out of time."""
    pool.ready.append(a_claim(beat_s=0.1, lease_s=2, time_s=1))
    gate = threading.Event()

    async with pulling(pool, lambda _, __: gate.wait(SECONDS)):
        await until(pool.reports)
        gate.set()

    [(_, kind, body)] = pool.reports()
    assert (kind, body["error"]["class"]) == ("failure", "TimedOut")


@pytest.mark.sem("SEM-SDK-11")
async def test_what_is_noted_goes_with_a_heartbeat_and_before_a_failure(pool: Pool) -> None:
    """The last checkpoint is stored before the attempt is given up: the next goes on from it."""
    pool.ready.append(a_claim(beat_s=5, lease_s=20))

    def work(_: object, ctx: Context) -> None:
        for row in range(10):
            ctx.heartbeat(progress=row / 10, checkpoint={"row": row})
        while not pool.told("heartbeat"):
            threading.Event().wait(0.01)
        ctx.heartbeat(checkpoint={"row": 10})  # within a second of the one before: it has to wait
        raise ConnectionError("gone")

    async with pulling(pool, work):
        await until(pool.reports)

    notes = [asked.body for asked in pool.told("heartbeat")]
    assert max(note.get("progress", 0) for note in notes) == 0.9
    assert notes[-1]["checkpoint"] == {"row": 10}
    assert len(notes) <= 3
    in_order = [path.rpartition("/")[2] for path in pool.server.paths if "/e1/" in path]
    assert in_order[-2:] == ["heartbeat", "fail"]


async def test_what_did_not_get_through_is_noted_with_the_next_heartbeat(pool: Pool) -> None:
    """A note is not lost with the one request that carried it, nor is the lease (B126)."""
    pool.ready.append(a_claim(beat_s=0.1, lease_s=4))
    cuts = iter([True, True])
    pool.beats = lambda asked: Says(cut="checkpoint" in asked.body and next(cuts, False))
    gate = threading.Event()

    def work(_: object, ctx: Context) -> None:
        ctx.heartbeat(checkpoint="here")
        gate.wait(SECONDS)

    def noted() -> list[str | None]:
        return [asked.body.get("checkpoint") for asked in pool.told("heartbeat")]

    async with pulling(pool, work):
        await until(lambda: "here" in noted() and noted()[-2:] == [None, None])
        gate.set()
        await until(pool.reports)

    assert noted().count("here") == 3


@pytest.mark.sem("SEM-SDK-10")
async def test_a_claim_whose_answer_was_lost_is_asked_for_again_under_its_request_id(pool: Pool) -> None:
    """What was granted is run, once."""
    pool.ready.append(a_claim())
    answers = iter([Says(cut=True), problem(500, "internal")])
    pool.claims = lambda _: next(answers, None)

    async with pulling(pool, lambda _, __: None):
        await until(pool.reports)

    ids = [asked.body["requestId"] for asked in pool.told("claim")]
    assert ids[0] == ids[1] == ids[2]
    assert ids[3:4] != ids[:1]
    assert [execution for execution, _, _ in pool.reports()] == ["e1"]


@pytest.mark.parametrize("body", [{}, {"executions": [{}], "waitedSec": 0}, {"executions": None}, [], "welcome"])
async def test_an_answer_that_tells_of_no_claims_ends_no_worker(
    pool: Pool, body: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Once it was let in: a proxy's page, or an API of another version. It asks again, and says what came."""
    answers = iter([None, Says(body=body)])
    pool.claims = lambda _: next(answers, None)

    async with pulling(pool, lambda _, __: None):
        await until(lambda: len(pool.told("claim")) >= 2)
        pool.ready.append(a_claim())
        await until(pool.reports)

    assert pool.reports()[0][:2] == ("e1", "complete")
    assert "a claim was answered by what is no Tickwright API" in caplog.text


async def test_a_report_is_sent_again_while_the_lease_may_last(pool: Pool) -> None:
    """The API is down for a moment: a finished run must not be run again for that."""
    pool.ready.append(a_claim(beat_s=5, lease_s=20))
    answers = iter([Says(cut=True)] * 5)
    pool.ends = lambda _: next(answers, Says())

    async with pulling(pool, lambda _, __: None):
        await until(lambda: len(pool.reports()) == 6)

    assert {kind for _, kind, _ in pool.reports()} == {"complete"}


async def test_a_zombies_report_is_refused_and_harms_nothing(pool: Pool) -> None:
    """It is logged, and the worker goes on with the next."""
    pool.ready.extend([a_claim(1), a_claim(2)])
    pool.ends = lost

    async with pulling(pool, lambda _, __: None, concurrency=1) as puller:
        await until(lambda: len(pool.reports()) == 2)
        await until(lambda: puller.runs == 0)

    assert [execution for execution, _, _ in pool.reports()] == ["e1", "e2"]


@pytest.mark.sem("SEM-SDK-4")
async def test_a_handler_that_is_not_there_is_said_so(pool: Pool) -> None:
    """With the names that there are; another machine may have it, so it is tried again."""
    pool.ready.append(a_claim(handler="other"))

    async with pulling(pool, lambda _, __: None):
        await until(pool.reports)

    [(_, kind, body)] = pool.reports()
    assert kind == "failure"
    assert body["error"]["class"] == "UnknownHandler"
    assert body["error"]["message"] == "This worker has no handler 'other'; it has: work."


@pytest.mark.parametrize(("status", "code"), [(401, "unauthenticated"), (403, "forbidden"), (404, "not_found")])
async def test_a_worker_that_is_not_let_in_says_so_and_ends(pool: Pool, status: int, code: str) -> None:
    """A wrong key or pool is told at the start, not retried for ever."""
    pool.claims = lambda _: problem(status, code)

    with pytest.raises(WorkerRefused, match=code):
        async with pulling(pool, lambda _, __: None):
            await until(lambda: pool.told("claim"))

    assert len(pool.told("claim")) == 1


@pytest.mark.sem("SEM-SDK-13")
async def test_a_stop_lets_what_runs_end(pool: Pool) -> None:
    """Nothing more is asked for, and what ends within the grace is reported."""
    pool.ready.append(a_claim())
    begun, gate = threading.Event(), threading.Event()

    def work(_: object, __: Context) -> str:
        begun.set()
        gate.wait(SECONDS)
        return "done"

    async with pulling(pool, work, grace_s=SECONDS) as puller:
        await until(begun.is_set)
        puller.stop.set()
        claims = len(pool.told("claim"))
        gate.set()
        await until(pool.reports)

    assert pool.reports()[0][1:] == ("complete", {"leaseEpoch": 1, "result": "done"})
    assert len(pool.told("claim")) <= claims + 1  # one may have been on its way


@pytest.mark.sem("SEM-SDK-13")
async def test_what_does_not_end_within_the_grace_is_given_back(pool: Pool) -> None:
    """The handler is told that the worker drains; that it broke off for that is no failure, and its note is kept."""
    pool.ready.append(a_claim(beat_s=5, lease_s=20))
    begun = threading.Event()
    seen: list[str | None] = []

    async def work(_: object, ctx: Context) -> None:
        begun.set()
        await ctx.sleep_async(SECONDS)
        seen.append(ctx.cancel_reason)
        ctx.heartbeat(checkpoint="so far")
        raise ConnectionError("broken off")

    async with pulling(pool, work, grace_s=1.0):
        await until(begun.is_set)

    assert seen == ["draining"]
    assert pool.reports() == [("e1", "notRun", {"leaseEpoch": 1, "kind": "notRun", "afterSec": 0.0})]
    assert pool.told("heartbeat")[-1].body["checkpoint"] == "so far"


@pytest.mark.sem("SEM-SDK-13")
async def test_what_is_claimed_while_it_stops_is_given_back_unrun(pool: Pool) -> None:
    """The poll that was pending brings one more."""
    called: list[object] = []
    polled = threading.Event()

    def grant_late(asked: Asked) -> None:
        polled.set()
        pool.changed.acquire()
        pool.changed.wait(0.5)
        pool.ready.append(a_claim())
        pool.changed.release()

    pool.claims = grant_late

    async with pulling(pool, lambda _, __: called.append(1)):
        await until(polled.is_set)

    assert called == []
    assert {(execution, kind) for execution, kind, _ in pool.reports()} == {("e1", "notRun")}


async def test_a_poll_that_hangs_is_cut_when_the_grace_is_over(pool: Pool) -> None:
    """A stop takes no longer than it may, whatever the API does."""
    polled, released = threading.Event(), threading.Event()

    def hang(_: Asked) -> None:
        polled.set()
        released.wait(SECONDS)

    pool.claims = hang
    loop = asyncio.get_running_loop()

    async with pulling(pool, lambda _, __: None, wait_s=20, grace_s=0.6):
        await until(polled.is_set)
        stopping_s = loop.time()
    took_s = loop.time() - stopping_s
    released.set()

    assert took_s < 5


async def test_two_grants_of_a_dying_lease_are_not_begun(pool: Pool) -> None:
    """An answer that took longer than the lease brings what is another's by now: it is given back."""
    called: list[object] = []
    pool.ready.append(a_claim(beat_s=0.05, lease_s=0.2))
    slow = iter([0.5])

    def answer_late(_: Asked) -> None:
        threading.Event().wait(next(slow, 0))

    pool.claims = answer_late

    async with pulling(pool, lambda _, __: called.append(1)):
        await until(pool.reports)

    assert called == []
    assert pool.reports()[0][1] == "notRun"


@pytest.mark.sem("SEM-SDK-11")
async def test_the_wait_for_a_claim_costs_nothing_of_its_lease(pool: Pool) -> None:
    """A lease that is granted after a poll that was held for as long."""
    pool.hold_s = 5

    async with pulling(pool, lambda _, __: "done", wait_s=5, grace_s=SECONDS):
        await until(lambda: pool.told("claim"))
        await asyncio.sleep(1.5)
        with pool.changed:
            pool.ready.append(a_claim(beat_s=0.5, lease_s=1.5))
            pool.changed.notify_all()
        await until(pool.reports)

    assert pool.reports()[0][1] == "complete"
