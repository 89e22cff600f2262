"""Does a worker work until it is told to stop, end in time then, and say how it is?"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.sdk.links import a_context
from tests.sdk.pool import a_claim, a_pool
from tickwright_sdk import Client, Context, Worker, WorkerRefused
from tickwright_sdk.health import Health, serving
from tickwright_sdk.signals import Wishes
from tickwright_sdk.worker import Shift

SECONDS = 20


def ask(port: int, method: str = "GET") -> tuple[int, Any]:
    """The health as it is told."""
    answer = urllib3.request(method, f"http://127.0.0.1:{port}/", retries=False, timeout=5)
    return answer.status, answer.json() if answer.data else None


@pytest.mark.sem("SEM-SDK-9")
async def test_the_health_of_a_worker_says_what_goes_on_in_it() -> None:
    """200 while it is well, also while it drains; 503 once code that nobody waits for has taken every place."""
    worker = Worker(threads=1, health_port=0)
    free, said = threading.Event(), {}

    @worker.job("deaf")
    def deaf(_payload: object, _ctx: Context) -> None:
        free.wait(10)

    async def transport(shift: Shift) -> None:
        async with worker.serving_health(shift, port=0) as port:
            said["at rest"] = await asyncio.to_thread(ask, port)
            running = asyncio.ensure_future(shift.hands.call(deaf, "null", a_context()))
            await asyncio.wait({running}, timeout=0.05)
            running.cancel()
            await asyncio.wait({running})
            said["full"] = await asyncio.to_thread(ask, port)
            free.set()
            async with asyncio.timeout(SECONDS):
                while shift.hands.condition().abandoned:
                    await asyncio.to_thread(free.wait)
            shift.stop.set()
            said["draining"] = await asyncio.to_thread(ask, port)
            said["head"] = await asyncio.to_thread(ask, port, "HEAD")
            said["post"] = await asyncio.to_thread(ask, port, "POST")

    await worker.serve(asyncio.Event(), transport=transport)

    told = {name: (status, body and body["status"]) for name, (status, body) in said.items()}
    assert told == {
        "at rest": (200, "ok"),
        "full": (503, "unwell"),
        "draining": (200, "draining"),
        "head": (200, None),
        "post": (405, None),
    }
    assert said["full"][1]["abandoned"] == 1


async def test_who_asks_for_the_health_and_says_nothing_harms_nobody() -> None:
    """A connection that is cut, and a head that never ends."""
    async with serving(lambda: Health(is_well=True, body={}), host="127.0.0.1", port=0) as port:
        for said in (b"", b"GET / HTTP/1.1\r\n", b"x" * 20_000):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            writer.close()

        assert (await asyncio.to_thread(ask, port))[0] == 200


@pytest.mark.sem("SEM-SDK-9")
@pytest.mark.parametrize("handler", ["quick", "deaf", "spins"])
async def test_a_worker_ends_in_time_whatever_its_handlers_do(handler: str, tmp_path: Path) -> None:
    """Code that hears nothing cannot be stopped, and does not keep the program alive."""
    program, ended = await started(handler, tmp_path / "at-work"), asyncio.get_running_loop().time
    program.send_signal(signal.SIGTERM)
    began = ended()
    out, _ = await asyncio.wait_for(program.communicate(), SECONDS)

    assert (program.returncode, out.decode().split()) == (0, ["waited"])
    assert ended() - began < 1 + 8  # its grace, and a slow machine's time to end a program


@pytest.mark.parametrize(
    ("signals_s", "stops", "hurries"),
    [((7.0,), 1, 0), ((7.0, 7.0, 7.4), 1, 0), ((7.0, 7.5), 1, 1), ((7.0, 7.1, 9.0), 1, 1)],
)
def test_a_second_signal_waits_for_no_grace_unless_it_is_the_same_wish(
    signals_s: Sequence[float], stops: int, hurries: int
) -> None:
    """Whoever presses Ctrl-C twice means it; a terminal and `timeout` signal the program and its group at once."""
    told: list[str] = []
    wishes = Wishes(lambda: told.append("stop"), lambda: told.append("hurry"))

    for at_s in signals_s:
        wishes.heard(at_s)

    assert (told.count("stop"), told.count("hurry")) == (stops, hurries)


@pytest.mark.sem("SEM-SDK-9")
async def test_a_program_that_is_signalled_again_hurries(tmp_path: Path) -> None:
    """It has an hour's grace, and takes none of it."""
    program = await started("quick", tmp_path / "at-work", grace_s=3_600)
    reading = asyncio.ensure_future(program.communicate())
    async with asyncio.timeout(SECONDS):
        while not reading.done():
            program.send_signal(signal.SIGINT)
            await asyncio.wait({reading}, timeout=0.1)

    assert reading.result()[0].split() == [b"hurried"]


async def started(handler: str, told: Path, *, grace_s: int = 1) -> "asyncio.subprocess.Process":
    """The program of stopping.py, at work."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.sdk.stopping", handler, str(told), str(grace_s)),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        while not told.exists():  # noqa: ASYNC240 - a look at a small file
            await asyncio.to_thread(threading.Event().wait, 0.05)
    return program


async def test_a_worker_pulls_from_its_pool_without_being_told_how() -> None:
    """The HTTP API is what it uses unless it is given a transport."""
    with a_pool(a_claim(1), a_claim(2)) as pool, Client(pool.server.url, "tw_key") as client:
        worker, stop = Worker(pool="p", client=client), asyncio.Event()

        @worker.job("work")
        def work(payload: dict[str, Any], _ctx: Context) -> object:
            if payload["n"] == 2:
                stop_soon()
            return payload

        loop = asyncio.get_running_loop()

        def stop_soon() -> None:
            loop.call_soon_threadsafe(stop.set)

        await asyncio.wait_for(worker.serve(stop), SECONDS)

        assert {(one, kind) for one, kind, _ in pool.reports()} == {("e1", "complete"), ("e2", "complete")}


async def test_a_worker_that_cannot_know_where_to_pull_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool, and the API's address with a key; and a number of runs that is one."""
    with pytest.raises(ValueError, match="concurrency"):
        Worker(concurrency=0)
    monkeypatch.delenv("TICKWRIGHT_URL", raising=False)

    with pytest.raises(WorkerRefused, match="pool="):
        await Worker().serve(asyncio.Event())
    worker = Worker(pool="p")
    worker.job("work")(lambda _, __: None)
    with pytest.raises(WorkerRefused, match="TICKWRIGHT_URL"):
        await worker.serve(asyncio.Event())
