"""Is a handler that computes kept apart from everybody else, whatever becomes of it?"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.sdk.computing import Sum, registry
from tests.sdk.links import Noting, a_context
from tickwright_sdk import HandlerRefused, Registry
from tickwright_sdk.hands import Hands, NoRoom
from tickwright_sdk.memory import IS_ENFORCED
from tickwright_sdk.results import Failed, Later, Result, Succeeded

ON_LINUX = pytest.mark.skipif(not IS_ENFORCED, reason="only Linux bounds memory, and ends a child with its parent")


@asynccontextmanager
async def hands(children: int = 1, patience_s: float = 30) -> AsyncIterator[Hands]:
    """Hands that let go at the end."""
    made = Hands(children=children, patience_s=patience_s)
    try:
        yield made
    finally:
        await made.close()


async def call(by: Hands, name: str, payload: object, link: Noting | None = None) -> Result | NoRoom:
    """Call a handler of computing.py."""
    job = registry.named(name)
    assert job is not None
    return await by.call(job, json.dumps(payload), a_context(link))


async def test_a_child_calls_a_handler_and_is_kept_warm() -> None:
    """Typed payloads and async handlers as anywhere; the second call finds the child there."""
    async with hands() as by:
        results = [await call(by, "sum", {"up_to": 5}), await call(by, "sum", {"up_to": 7})]
        greeted = await call(by, "awaits", "hello ")
        refused = await call(by, "sum", {"up_to": "many"})

    sums = [json.loads(result.result or "") for result in results if isinstance(result, Succeeded)]
    assert [one["sum"] for one in sums] == [10, 21]
    assert len({one["pid"] for one in sums} - {os.getpid()}) == 1
    assert greeted == Succeeded(result=f'"hello {a_context().execution_id}"')
    assert isinstance(refused, Failed)
    assert (refused.error_class, refused.fatal) == ("BadPayload", True)
    assert Sum(up_to=3).up_to == 3


@pytest.mark.sem("SEM-SDK-17")
@pytest.mark.parametrize("name", ["where", "where-async"])
async def test_a_run_that_is_to_be_alone_is_called_in_a_child(name: str) -> None:
    """Its handler is one of threads or of the loop; what it does to its process ends nobody else's run."""
    job = registry.named(name)
    assert job is not None
    async with hands() as by:
        usual, alone, killed = [
            await by.call(job, payload, a_context(), alone=alone)
            for payload, alone in (("null", False), ("null", True), ('"kill"', True))
        ]

    assert usual == Succeeded(result=str(os.getpid()))
    assert isinstance(alone, Succeeded)
    assert alone != usual
    assert isinstance(killed, Failed)
    assert (killed.error_class, killed.fatal) == ("ChildKilled", False)


@pytest.mark.sem("SEM-SDK-17")
async def test_a_handler_that_no_child_finds_is_called_as_usual() -> None:
    """It is defined where it is used; and one whose module a child cannot import fails, but not for good."""
    by_name = Registry()

    def here(_payload: object, _ctx: object) -> int:
        return os.getpid()

    def elsewhere(_payload: object, _ctx: object) -> None:
        """Of a program that put its modules together by itself."""

    elsewhere.__module__, elsewhere.__qualname__ = "no_such_module", "elsewhere"
    local = by_name.job("local")(here)
    lost, asked = by_name.job("lost")(elsewhere), by_name.job("asked", process=True)(elsewhere)
    async with hands() as by:
        usual = await by.call(local, "null", a_context(), alone=True)
        failed = [await by.call(job, "null", a_context(), alone=True) for job in (lost, asked)]

    assert usual == Succeeded(result=str(os.getpid()))
    assert [one.fatal for one in failed if isinstance(one, Failed)] == [False, True]


async def test_a_child_has_no_secret_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a handler starts inherits its environment."""
    monkeypatch.setenv("TICKWRIGHT_WEBHOOK_KEY", "secret")
    monkeypatch.setenv("TICKWRIGHT_API_KEY", "secret")
    monkeypatch.setenv("TICKWRIGHT_STAGE", "dev")
    async with hands() as by:
        found = await call(by, "environment", None)

    assert isinstance(found, Succeeded)
    names = json.loads(found.result or "")
    assert "TICKWRIGHT_STAGE" in names
    assert not {"TICKWRIGHT_WEBHOOK_KEY", "TICKWRIGHT_API_KEY"} & set(names)


@pytest.mark.sem("SEM-SDK-7")
async def test_however_a_child_ends_only_its_call_fails() -> None:
    """An answer where there is one, else what became of the process; the next call finds a fresh child."""
    async with hands() as by:
        answers = {
            end: await call(by, "ends", end) for end in ("fatal", "later", "exit", "killed", "SystemExit", "ValueError")
        }
        after = await call(by, "sum", {"up_to": 5})

    said = {end: (answer.error_class, answer.fatal) for end, answer in answers.items() if isinstance(answer, Failed)}
    assert said == {
        "fatal": ("Fatal", True),
        "exit": ("ChildExited", False),
        "killed": ("ChildKilled", False),
        "SystemExit": ("SystemExit", False),
        "ValueError": ("ValueError", False),
    }
    assert answers["later"] == Later(after_s=30, message="closed")
    assert isinstance(after, Succeeded)


@pytest.mark.sem("SEM-SDK-7")
async def test_a_child_that_dies_harms_no_other() -> None:
    """A pool of processes would fail all that are under way."""
    async with hands(children=2) as by:
        slow = asyncio.create_task(call(by, "waits", 0.8))
        await asyncio.wait({slow}, timeout=0.3)
        died = await call(by, "ends", "killed")
        result = await slow

    assert isinstance(died, Failed)
    assert isinstance(result, Succeeded)


async def test_a_child_notes_logs_and_hears_the_reason_to_stop() -> None:
    """Through its pipe, which user code that prints does not disturb."""
    link = Noting()
    async with hands() as by:
        running = asyncio.create_task(call(by, "notes", None, link))
        while not link.lines:
            await asyncio.wait({running}, timeout=0.01)
        link.stop("draining")
        result = await running

    assert link.notes == [(0.5, '{"row":1}')]
    assert link.lines[0].endswith("WARNING row 1")
    assert result == Succeeded(result='"draining"')


async def test_a_call_that_is_to_stop_before_it_has_begun_learns_it() -> None:
    """Its child was still being started."""
    link = Noting(reason="draining")
    async with hands() as by, asyncio.timeout(20):
        assert await call(by, "notes", None, link) == Succeeded(result='"draining"')


@pytest.mark.sem("SEM-SDK-7")
async def test_a_child_whose_time_is_over_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    """Code that spins hears nothing, and what it has started holds the pipe open."""
    told = tmp_path / "pids"
    async with hands() as by:
        running = asyncio.create_task(call(by, "spins", str(told)))
        while not (told.exists() and " " in told.read_text()):
            await asyncio.wait({running}, timeout=0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        after = await call(by, "sum", {"up_to": 5})

    assert [pid for pid in map(int, told.read_text().split()) if _lives(pid)] == []
    assert isinstance(after, Succeeded)


@ON_LINUX
@pytest.mark.sem("SEM-SDK-8")
@pytest.mark.parametrize("kind", ["blocks", "objects"])
async def test_a_call_that_takes_too_much_memory_fails_alone(kind: str) -> None:
    """The limit is of one call: what is within it succeeds before and after."""
    async with hands() as by:
        before = await call(by, "grows", "a little")
        result = await call(by, "grows", kind)
        after = await call(by, "grows", "a little")

    assert isinstance(result, Failed)
    assert (result.error_class, result.fatal) == ("MemoryError", False)
    assert "100 MB" in result.message
    assert before == after == Succeeded(result=str(40 << 20))


@ON_LINUX
@pytest.mark.sem("SEM-SDK-8")
async def test_memory_that_no_frame_holds_does_not_outlive_its_call() -> None:
    """What a module hoards goes with its child."""
    async with hands() as by:
        results = [await call(by, "hoards", None) for _ in range(2)]
        after = await call(by, "sum", {"up_to": 5})

    assert {type(result) for result in results} == {Failed}
    assert isinstance(after, Succeeded)


@pytest.mark.sem("SEM-SDK-6")
async def test_a_call_without_a_child_to_be_had_is_no_failure() -> None:
    """It comes again, and no attempt is counted."""
    async with hands(patience_s=0.05) as by:
        slow = asyncio.create_task(call(by, "waits", 1))
        await asyncio.wait({slow}, timeout=0.01)

        assert await call(by, "sum", {"up_to": 5}) == NoRoom()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow


@ON_LINUX
@pytest.mark.sem("SEM-SDK-7")
async def test_a_child_does_not_outlive_its_worker(tmp_path: Path) -> None:
    """Whoever kills the worker would else leave code that goes on writing."""
    told = tmp_path / "pids"
    program = f"""
import asyncio
from tests.sdk.test_children import call, hands
async def main():
    async with hands() as by:
        await call(by, "spins", {str(told)!r})
asyncio.run(main())
"""
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env=os.environ | paths)
    while not (told.exists() and " " in told.read_text()):
        await asyncio.wait({asyncio.create_task(asyncio.to_thread(told.exists))}, timeout=0.05)
    child, started = map(int, told.read_text().split())
    worker.kill()
    await worker.wait()
    async with asyncio.timeout(10):
        while _lives(child):
            await asyncio.to_thread(_lives, child)
    os.kill(started, signal.SIGKILL)

    assert not _lives(child)


@pytest.mark.sem("SEM-SDK-4")
def test_a_handler_that_a_child_could_not_find_is_refused() -> None:
    """The program itself cannot be imported a second time."""

    def here(_payload: object, _ctx: object) -> None: ...

    here.__module__, here.__qualname__ = "__main__", "here"
    with pytest.raises(HandlerRefused, match="move it to a module"):
        Registry().job("it", process=True)(here)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] if IS_ENFORCED else "R"
        os.kill(pid, 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
