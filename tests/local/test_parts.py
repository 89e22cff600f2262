"""What the local program is made of: threads for every place, a secret that is whole, a broom that does not break."""

import asyncio
import io
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.builders import a_definition, an_execution
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.attempts import Success
from tickwright.domain.events import EventName, Happening
from tickwright.domain.executions import Noted
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Target
from tickwright.domain.lanes import Lane
from tickwright.domain.logs import LogTail
from tickwright.domain.transitions import State
from tickwright.local import program
from tickwright.local.board import Board
from tickwright.loops.worker import PLACES
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.wiring.embedded import EmbeddedKit, embedded_kit, local_runners
from tickwright_sdk import Context, Registry


@pytest.mark.sem("SEM-API-5")
async def test_the_secret_of_page_tokens_is_never_empty(tmp_path: Path) -> None:
    """A crash or a full disk between making the file and writing it must not leave tokens that anybody can sign."""
    path = tmp_path / "pages.secret"
    path.touch()
    async with embedded_kit(None, MemoryTelemetry()) as kit:
        secret = program._kept_secret(kit, tmp_path, "pages.secret")  # noqa: SLF001 - the part in question
        again = program._kept_secret(kit, tmp_path, "pages.secret")  # noqa: SLF001

    assert len(secret) == 52
    assert again == secret
    assert path.stat().st_mode & 0o077 == 0
    assert _names_in(tmp_path) == ["pages.secret"]


def _names_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


async def test_a_file_that_is_busy_does_not_end_the_sweeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fault costs one round; the program ends well all the same."""

    async def busy(_kit: EmbeddedKit) -> int:
        raise StoreUnavailable("database is locked")

    monkeypatch.setattr(EmbeddedKit, "sweep", busy)
    telemetry, stop = MemoryTelemetry(), asyncio.Event()
    async with embedded_kit(tmp_path / "a.db", telemetry) as kit:
        asyncio.get_running_loop().call_soon(stop.set)
        await program._sweep(kit, stop)  # noqa: SLF001 - the part in question

    assert telemetry.counts[EventName.STORE_FAULT] == 1


async def test_a_loop_that_breaks_ends_the_program() -> None:
    """Half a program would take jobs and run none; the others end first, and then it is said."""
    ended: list[str] = []

    async def breaks() -> None:
        raise RuntimeError("broken")

    async def ends(stop: asyncio.Event) -> None:
        await stop.wait()
        ended.append("well")

    stop = asyncio.Event()
    loops = [asyncio.create_task(breaks()), asyncio.create_task(ends(stop))]
    await program._wait(stop, loops)  # noqa: SLF001 - the part in question
    stop.set()
    with pytest.raises(RuntimeError, match="broken"):
        await program._end(loops)  # noqa: SLF001

    assert ended == ["well"]


def test_the_lag_of_a_tick_stands_beside_its_first_attempt_alone() -> None:
    """Before a later attempt lies a backoff: a number there would look as if the product were late."""
    out = io.StringIO()
    board = Board(out)
    about = {"executionId": an_execution().ref.id, "jobId": "job", "reason": "failed"}
    for attempt, lag_ms in ((1, 4.0), (2, 10_004.0)):
        measured = {"attempt": float(attempt), "startLagMs": lag_ms}
        board.emit(Happening(name=EventName.EXECUTION_CLAIMED, about=about, measured=measured))
        board.emit(Happening(name=EventName.EXECUTION_RETRYING, about=about))
    shown = [line.split() for line in out.getvalue().splitlines()]

    assert [line[2:] for line in shown] == [["1", "retry", "4", "ms", "failed"], ["2", "retry", "failed"]]


@pytest.mark.sem("SEM-LANE-1")
async def test_slow_runs_of_a_low_lane_hold_up_none_of_a_high_one() -> None:
    """Every place of a worker has its thread: what is claimed is begun, whatever the other lanes do."""
    registry, free = Registry(), threading.Event()

    @registry.job("slow")
    def slow(_payload: object, _context: Context) -> None:
        free.wait()

    @registry.job("quick")
    def quick(_payload: object, _context: Context) -> None:
        return None

    runner = local_runners(registry, threads=program.THREADS)["python"]
    waiting = [
        asyncio.create_task(runner.run(_invocation("slow")))
        for _ in range(PLACES[Lane.LOW] + PLACES[Lane.NORMAL] + PLACES[Lane.BACKFILL])
    ]
    try:
        async with asyncio.timeout(20):
            result = await runner.run(_invocation("quick"))
    finally:
        free.set()
        await asyncio.gather(*waiting)

    assert result == Success()


def _invocation(handler: str) -> Invocation:
    execution = an_execution(state=State.RUNNING)
    spec = a_definition().spec
    return Invocation(
        execution=execution,
        definition=replace(
            a_definition(), spec=replace(spec, target=Target(kind="python", settings={"handler": handler}))
        ),
        epoch=execution.lease_epoch,
        deadline_at=Instant(execution.scheduled_at + 300_000),
        cancelled=lambda: False,
        wait_cancelled=_never,
        beat=_goes_on,
        log=LogTail(),
    )


async def _goes_on(_noted: Noted | None) -> bool:
    return True


async def _never() -> None:
    await asyncio.Event().wait()
