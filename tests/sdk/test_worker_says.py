"""Does a worker say what it does from start to end, and in one line what is wrong where it cannot work?"""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.pool import Pool, a_claim, a_pool, lost
from tests.sdk.scripted import Asked, Says, problem
from tickwright_sdk import Client, Context, Worker, WorkerRefused

SECONDS = 20
WORKER = """
from tickwright_sdk import Worker

worker = Worker(pool="billing", grace_s=1)

@worker.job("bill")
def bill(payload: dict, ctx: object) -> None:
    pass

if __name__ == "__main__":
    worker.run()
"""


async def served(pool: Pool, work: Callable[[Any, Context], object], until: Callable[[], object], **how: Any) -> None:  # noqa: ANN401
    """A worker with one handler, stopped once something is so."""
    stop = asyncio.Event()
    with Client(pool.server.url, "tw_key", wait=lambda _: None) as client:
        worker = Worker(pool="billing", client=client, worker_id="w1", **how)
        worker.job("work")(work)
        serving = asyncio.create_task(worker.serve(stop))
        async with asyncio.timeout(SECONDS):
            while not until():  # noqa: ASYNC110 - another thread's progress is only to be polled
                await asyncio.sleep(0.01)
            stop.set()
            await serving


def said(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    """What the worker's log has of a level."""
    return [one.getMessage() for one in caplog.records if one.name == "tickwright.worker" and one.levelno == level]


@pytest.mark.sem("SEM-SDK-15")
async def test_a_worker_says_what_it_serves_that_it_is_ready_and_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    """URL, pool, handlers and places; never its key; and what it finished and gave back."""
    caplog.set_level(logging.INFO)
    begun = threading.Event()

    def work(payload: dict[str, int], ctx: Context) -> None:
        if payload["n"] == 2:
            begun.set()
            ctx.sleep(SECONDS)
            raise ctx.stopped()

    with a_pool(a_claim(1), a_claim(2)) as pool:
        await served(pool, work, lambda: begun.is_set() and pool.reports(), concurrency=3, children=2, grace_s=0.5)
        url = pool.server.url

    assert said(caplog) == [
        f"worker w1 serves the pool 'billing' of {url}: work; 3 runs at a time, in 3 threads and 2 children",
        "ready: the API grants runs of the pool to this worker",
        "stopping: asks for no more, gives back what still comes, lets end what ends within 0.5 s; 1 run goes on",
        "e2 at leaseEpoch 1: given back, no attempt is counted",
        "stopped: 1 run ended here, 1 given back, 0 left to their leases",
    ]
    assert "tw_key" not in caplog.text


@pytest.mark.sem("SEM-SDK-15")
async def test_a_worker_is_ready_before_there_is_anything_to_do(caplog: pytest.LogCaptureFixture) -> None:
    """Its first claim waits for nothing."""
    caplog.set_level(logging.INFO)
    with a_pool() as pool:
        await served(pool, lambda _, __: None, lambda: any(line.startswith("ready") for line in said(caplog)))

        assert pool.told("claim")[0].body["waitSec"] == 0


@pytest.mark.sem("SEM-SDK-15")
@pytest.mark.parametrize(
    ("beats", "ends", "tells"),
    [
        (lambda _: problem(409, "cancelled"), lambda _: problem(409, "cancelled"), "cancelled"),
        (lost, lost, "lease_lost"),
        (lambda _: Says(body={}), lost, "lease_lost"),
    ],
)
async def test_a_run_that_was_cancelled_or_taken_over_is_no_warning(
    caplog: pytest.LogCaptureFixture,
    beats: Callable[[Asked], Says],
    ends: Callable[[Asked], Says],
    tells: str,
) -> None:
    """It is what the protocol does every day."""
    caplog.set_level(logging.INFO)
    with a_pool(a_claim(1, beat_s=0.1)) as pool:
        pool.beats, pool.ends = beats, ends
        done = threading.Event()

        def work(_: object, ctx: Context) -> None:
            ctx.sleep(0.4)
            done.set()

        await served(pool, work, lambda: done.is_set() and any(tells in line for line in said(caplog)))

    assert [one.getMessage() for one in caplog.records if one.levelno > logging.INFO] == []


# --- what is wrong ----------------------------------------------------------------------------------------------
def healthy(asked: Asked) -> Says:
    """An API that is there."""
    return Says(body={"status": "ok"}) if asked.path == "/v1/health" else problem(404, "not_found")


@pytest.mark.sem("SEM-SDK-15")
@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (lambda _: problem(401, "unauthenticated"), "does not know the key"),
        (lambda _: problem(403, "forbidden"), "scope executions:run"),
        (healthy, "no pool 'billing'"),
        (lambda _: problem(404, "not_found"), "no Tickwright API"),
        (lambda _: Says(status=404, body=b"<html>"), "no Tickwright API"),
        (lambda _: Says(status=403, body={"message": "Forbidden"}), "no Tickwright API"),
        (lambda _: problem(422, "invalid"), "it is invalid"),
        (lambda _: Says(body=b"<html>Log in</html>"), "no Tickwright API.*Log in"),
        (lambda _: Says(body={"hello": 1}), "no Tickwright API.*'hello'"),
        (lambda _: Says(body=["a"]), "no Tickwright API.*list"),
    ],
)
async def test_a_worker_that_is_not_let_in_says_what_is_wrong(answers: Callable[[Asked], Says], says: str) -> None:
    """As one class of exception where it is embedded, with what to do about it; and it asks no second time."""
    with a_pool() as pool, Client(pool.server.url, "tw_key") as client:
        pool.server.otherwise = answers
        worker = Worker(pool="billing", client=client)
        worker.job("work")(lambda _, __: None)

        with pytest.raises(WorkerRefused, match=says) as refused:
            await asyncio.wait_for(worker.serve(asyncio.Event()), SECONDS)

    assert pool.server.url in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(pool.told("claim")) == 1


def program(
    tmp_path: Path, env: Mapping[str, str], *arguments: str, text: str = WORKER
) -> "subprocess.CompletedProcess[str]":
    """The worker as a program, until it ends by itself."""
    (tmp_path / "billing_worker.py").write_text(text)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TICKWRIGHT_")}
    return subprocess.run(
        [sys.executable, *(arguments or ["billing_worker.py"])],
        env=kept | {"PYTHONPATH": os.pathsep.join(sys.path), **env},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


HERE = {"TICKWRIGHT_URL": "http://127.0.0.1:9"}


@pytest.mark.sem("SEM-SDK-15")
@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"TICKWRIGHT_API_KEY": "tw_secret"}, "TICKWRIGHT_URL is not set"),
        (HERE, "TICKWRIGHT_API_KEY is not set"),
        (HERE | {"TICKWRIGHT_API_KEY": "with blanks"}, "TICKWRIGHT_API_KEY: An API key is"),
        ({"TICKWRIGHT_URL": "127.0.0.1:9", "TICKWRIGHT_API_KEY": "tw_secret"}, "not '127.0.0.1:9'"),
        ({"TICKWRIGHT_URL": "http://example.com", "TICKWRIGHT_API_KEY": "tw_secret"}, "use https"),
    ],
)
def test_a_program_that_cannot_work_says_why_in_one_line(tmp_path: Path, env: Mapping[str, str], says: str) -> None:
    """No traceback, exit status 2, a line of its own for each mistake, and the key in none."""
    ended = program(tmp_path, env)

    assert ended.returncode == 2
    assert ended.stderr.startswith("tickwright: ")
    assert says in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "tw_secret" not in ended.stderr


@pytest.mark.sem("SEM-SDK-15")
def test_a_program_that_is_not_let_in_ends_with_its_line(tmp_path: Path) -> None:
    """After what it has said of itself: a program that has no log of its own shows the worker's."""
    with a_pool() as pool:
        pool.server.otherwise = lambda _: problem(401, "unauthenticated")
        ended = program(tmp_path, {"TICKWRIGHT_URL": pool.server.url, "TICKWRIGHT_API_KEY": "tw_secret"})

    *before, last = ended.stderr.splitlines()
    assert ended.returncode == 2
    assert last.startswith("tickwright: ")
    assert "does not know the key" in last
    assert [line for line in before if "serves the pool 'billing'" in line] == before
    assert "tw_secret" not in ended.stderr


@pytest.mark.sem("SEM-SDK-15")
@pytest.mark.parametrize("named", ["no_such_module:worker", "billing_worker:nothing"])
def test_a_module_that_is_not_there_is_told_in_one_line(tmp_path: Path, named: str) -> None:
    """`python -m tickwright_sdk` of what does not exist."""
    ended = program(tmp_path, {}, "-m", "tickwright_sdk", named)

    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert named.partition(":")[0] in ended.stderr


async def test_nobody_at_the_address_is_told_as_such_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """The API may come up after its workers: they wait for it, and say for whom."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(url, "tw_key") as client:
            stop = asyncio.Event()
            worker = Worker(pool="billing", client=client)
            worker.job("work")(lambda _, __: None)
            serving = asyncio.create_task(worker.serve(stop))
            async with asyncio.timeout(SECONDS):
                while len(said(caplog, logging.WARNING)) < 2:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.01)
            stop.set()
            await serving

    first = said(caplog, logging.WARNING)[0]
    assert first.startswith(f"nobody answers at {url}, which is tried again; is TICKWRIGHT_URL right?")


async def test_a_worker_without_handlers_is_refused() -> None:
    """It would fail every run of its pool as one of an unknown handler."""
    with Client("http://127.0.0.1:9", "tw_key") as client, pytest.raises(WorkerRefused, match=r"worker\.job"):
        await Worker(pool="billing", client=client).serve(asyncio.Event())
