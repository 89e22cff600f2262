"""Does a worker's log tell of each run that did not succeed, in one line, and of nothing that is to stay hidden?"""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.computing import spins
from tests.sdk.pool import a_claim, a_pool
from tests.sdk.scripted import Asked, Says, problem
from tests.sdk.test_pull import SECONDS, pulling, until
from tests.sdk.test_worker_says import said
from tickwright_sdk import Context, Fatal, RetryLater, WorkerRefused, pull


def raising(fault: BaseException) -> Callable[[Any, Context], object]:
    """A handler that raises this."""

    def work(_: object, __: Context) -> None:
        raise fault

    return work


ABOUT = "e1 at leaseEpoch 1: 'work', attempt 2 of 3"
WARNING, INFO = logging.WARNING, logging.INFO


def typed(_: int, __: Context) -> None:
    """A handler that takes a number."""


@pytest.mark.sem("SEM-SDK-15")
@pytest.mark.parametrize(
    ("work", "changed", "level", "line"),
    [
        (raising(OSError("hidden")), {}, WARNING, f"{ABOUT}, failed with 'OSError'"),
        (raising(Fatal("hidden")), {}, WARNING, f"{ABOUT}, failed with 'Fatal', and is not tried again"),
        (typed, {"payload": "hidden"}, WARNING, f"{ABOUT}, failed with 'BadPayload', and is not tried again"),
        (typed, {"handler": "x"}, WARNING, f"{ABOUT.replace('work', 'x')}, failed with 'UnknownHandler'"),
        (raising(RetryLater(7, "hidden")), {}, INFO, f"{ABOUT}, asks to be tried again in 7 s"),
    ],
)
async def test_a_run_that_did_not_succeed_is_told_in_one_line(
    work: Callable[[Any, Context], object],
    changed: dict[str, Any],
    level: int,
    line: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Which, of which handler, at which attempt and of what class; not what it said, nor what it was given."""
    caplog.set_level(logging.INFO)
    with a_pool(a_claim(attempt=2, **changed)) as pool:
        async with pulling(pool, work):
            await until(pool.reports)

    assert [one for one in said(caplog, level) if one.startswith("e1")] == [line]
    assert "hidden" not in caplog.text


async def test_a_run_that_succeeded_is_told_in_no_line(caplog: pytest.LogCaptureFixture) -> None:
    """A thousand a minute are an ordinary day."""
    caplog.set_level(logging.INFO)
    with a_pool(a_claim()) as pool:
        async with pulling(pool, lambda _, __: None):
            await until(pool.reports)

    assert "e1" not in caplog.text


# --- the end --------------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-SDK-13")
async def test_code_that_does_not_stop_is_left_to_its_lease_and_named(caplog: pytest.LogCaptureFixture) -> None:
    """Given back, its successor would begin beside it; whoever reads the log knows which run waits for its lease."""
    caplog.set_level(logging.INFO)
    gate, begun = threading.Event(), threading.Event()

    def deaf(_: object, __: Context) -> None:
        begun.set()
        gate.wait(SECONDS)

    with a_pool(a_claim(beat_s=15, lease_s=60)) as pool:
        async with pulling(pool, deaf, grace_s=0.9):
            await until(begun.is_set)
        gate.set()

        assert pool.reports() == []
    assert said(caplog, WARNING) == ["e1 at leaseEpoch 1: 'work' does not stop, and is left to its lease"]
    assert said(caplog)[-1] == "stopped: 0 runs ended here, 0 given back, 1 left to their leases"


@pytest.mark.sem("SEM-SDK-13")
async def test_a_run_whose_child_was_killed_is_given_back(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """It listens to nothing, and is gone before its successor is let begin: also within a short grace."""
    caplog.set_level(logging.INFO)
    at_work = tmp_path / "at-work"
    with a_pool(a_claim(beat_s=15, lease_s=60, payload=str(at_work), alone=True)) as pool:
        async with pulling(pool, spins, grace_s=3):
            await until(lambda: at_work.exists() and at_work.read_text())

        assert [(one, kind) for one, kind, _ in pool.reports()] == [("e1", "notRun")]
    assert said(caplog)[-1] == "stopped: 0 runs ended here, 1 given back, 0 left to their leases"


@pytest.mark.sem("SEM-SDK-13")
async def test_a_report_that_nobody_answers_keeps_no_worker_and_no_task(caplog: pytest.LogCaptureFixture) -> None:
    """The program that it was embedded in goes on, and has nothing of it left; the log names the run."""
    caplog.set_level(logging.INFO)
    answered = threading.Event()

    def hangs(_: Asked) -> Says:
        answered.wait(SECONDS)
        return Says(body={})

    with a_pool(a_claim(beat_s=15, lease_s=60)) as pool:
        pool.ends = hangs
        async with pulling(pool, lambda _, __: None, grace_s=0.6):
            await until(pool.reports)
        await asyncio.sleep(0)
        left = [one.get_name() for one in asyncio.all_tasks() if one.get_name() == "e1"]
        answered.set()

    assert left == []
    assert said(caplog, WARNING) == ["e1: has not ended in time, and is left to its lease"]
    assert said(caplog)[-1] == "stopped: 0 runs ended here, 0 given back, 1 left to their leases"


async def test_a_worker_whose_pool_was_deleted_names_it_and_ends(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at once, for the pool may be put again, and not never."""
    monkeypatch.setattr(pull, "_GONE_S", 0.3)
    answers = iter([Says(body={"executions": [], "waitedSec": 0})])
    with a_pool() as pool:
        pool.claims = lambda _: next(answers, None) or problem(404, "not_found")

        with pytest.raises(WorkerRefused, match=r"no pool 'p' any more for 0\.3 s"):
            async with pulling(pool, lambda _, __: None):
                await until(lambda: len(pool.told("claim")) >= 3)

    assert said(caplog, WARNING)[0].startswith("there is no pool 'p' any more; it is asked for again")
