"""Every snippet of docs/workers.md runs as it stands: as one module, and its program as one that pulls."""

import asyncio
import importlib
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.sdk.links import a_context
from tests.sdk.pool import a_claim, a_pool
from tests.tidy.tree import ROOT
from tickwright_sdk.__main__ import main
from tickwright_sdk.hands import Hands
from tickwright_sdk.results import Failed, Later, Succeeded

PAGE = (ROOT / "docs" / "workers.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SECONDS = 30


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The snippets one after another, as a module; that of the tests passes in it."""
    assert len(SNIPPETS) == 5
    (tmp_path / "workers_page.py").write_text("\n\n".join(SNIPPETS))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("workers_page")
    del sys.modules["workers_page"]


@pytest.mark.sem("SEM-SDK-2")
async def test_the_handlers_of_the_page_end_as_it_says(page: ModuleType) -> None:
    """A value, a wish to be tried later, the end of all attempts, a child's answer."""
    hands = Hands(children=1)
    try:
        charged = [await hands.call(page.charge, f'{{"bank":"{bank}"}}', a_context()) for bank in BANKS]
        reported = await hands.call(page.report, "4", a_context())
        billed = await hands.call(page.bill, '{"account":"a","months":"many"}', a_context())
    finally:
        await hands.close()

    assert charged[:2] == [Succeeded(result='"charged"'), Later(after_s=600, message="the bank is closed")]
    assert isinstance(charged[2], Failed)
    assert charged[2].fatal
    assert reported == Succeeded(result="14")
    assert isinstance(billed, Failed)


BANKS = ("open", "closed", "unknown")


async def test_the_program_of_the_page_pulls_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """As its reader starts it: the API's address and key in the environment."""
    reports = await pulled(tmp_path, SNIPPETS[0], ["worker.py"], BILLED)

    assert [(kind, body["result"]) for _, kind, body in reports] == [("complete", {"months": 2})]
    assert "billing month 1 of a" in reports[0][2]["log"]


async def test_a_program_that_the_sdk_starts_may_hold_handlers_for_children(tmp_path: Path) -> None:
    """They find it as the module that it is."""
    program = SNIPPETS[0].replace('if __name__ == "__main__":\n    worker.run()\n', "") + SNIPPETS[2]
    reports = await pulled(tmp_path, program, ["-m", "tickwright_sdk", "worker:worker"], REPORTED)

    assert [(kind, body["result"]) for _, kind, body in reports] == [("complete", 14)]


BILLED = a_claim(1, lease_s=60, beat_s=15) | {"handler": "billing.nightly", "payload": {"account": "a", "months": 2}}
REPORTED = BILLED | {"handler": "billing.report", "payload": 4}


async def pulled(folder: Path, program: str, started: list[str], claim: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """What a program reports of one claim, before it is told to stop and ends well."""
    (folder / "worker.py").write_text(program)
    with a_pool(claim) as pool:
        environment = {"TICKWRIGHT_URL": pool.server.url, "TICKWRIGHT_API_KEY": "tw_key"}
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, *started),
            cwd=folder,
            env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        async with asyncio.timeout(SECONDS):
            while not pool.reports():  # noqa: ASYNC110 - another process's progress is only to be polled
                await asyncio.sleep(0.05)
            running.send_signal(signal.SIGTERM)
            assert await running.wait() == 0
        return pool.reports()


@pytest.mark.parametrize("argument", [[], ["tests.sdk.links:nobody"], ["tests.sdk.links:AT"]])
def test_what_is_no_worker_is_said(argument: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and the status of a wrong command."""
    assert main(argument) == 2
    assert "usage:" in capsys.readouterr().err
