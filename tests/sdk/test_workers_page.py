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

import pytest

from tests.sdk.links import a_context
from tests.sdk.pool import a_claim, a_pool
from tests.tidy.tree import ROOT
from tickwright_sdk.hands import Hands
from tickwright_sdk.results import Failed, Later, Succeeded

PAGE = (ROOT / "docs" / "workers.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SECONDS = 30


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The snippets one after another, as a module; that of the tests passes in it."""
    assert len(SNIPPETS) == 4
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

    assert charged[:2] == [Succeeded(result='"charged"'), Later(after_s=600)]
    assert isinstance(charged[2], Failed)
    assert charged[2].fatal
    assert reported == Succeeded(result="14")
    assert isinstance(billed, Failed)


BANKS = ("open", "closed", "unknown")


async def test_the_program_of_the_page_pulls_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """As its reader starts it: the API's address and key in the environment."""
    (tmp_path / "worker.py").write_text(SNIPPETS[0])
    claim = a_claim(1, lease_s=60, beat_s=15) | {"handler": "billing.nightly", "payload": {"account": "a", "months": 2}}
    with a_pool(claim) as pool:
        environment = {"TICKWRIGHT_URL": pool.server.url, "TICKWRIGHT_API_KEY": "tw_key"}
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, str(tmp_path / "worker.py")),
            env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        async with asyncio.timeout(SECONDS):
            while not pool.reports():  # noqa: ASYNC110 - another process's progress is only to be polled
                await asyncio.sleep(0.05)
            program.send_signal(signal.SIGTERM)
            status = await program.wait()

        assert status == 0
        assert [(kind, body["result"]) for _, kind, body in pool.reports()] == [("complete", {"months": 2})]
        assert "billing month 1 of a" in pool.reports()[0][2]["log"]
