"""What docs/logs-and-secrets.md shows is taken by the API, and does what the page says."""

import json
import re
from typing import Any

import pytest

from tests.api.client import Client
from tests.api.test_executions import a_running_one
from tests.tidy.tree import ROOT
from tickwright.domain.secrets import MASK, is_secret_header

PAGE = (ROOT / "docs" / "logs-and-secrets.md").read_text()
REPORT, JOB = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.sem("SEM-LOG-1")
async def test_the_report_of_the_page_leaves_a_log(acme: Client) -> None:
    """It is read where the page says."""
    path = await a_running_one(acme)
    template = re.findall(r"```\nGET (\S+)\n```", PAGE)[0]

    done = await acme.send("POST", f"{path}/complete", REPORT)
    got = await acme.get(template.replace("{executionId}", path.rpartition("/")[2]))

    (log,) = got.json["logs"]
    assert (done.status, log["text"], log["saidBy"], log["cutBytes"]) == (200, REPORT["log"], "report", 0)


@pytest.mark.sem("SEM-SECRET-1")
async def test_the_job_of_the_page_is_shown_without_its_secrets(acme: Client) -> None:
    """The one that it names, and the header."""
    job: Any = await acme.job(**JOB)

    assert job["payload"] == JOB["payload"] | {"card": JOB["payload"]["card"] | {"number": MASK}}
    assert job["target"]["headers"] == {"Authorization": MASK}


@pytest.mark.sem("SEM-SECRET-1")
def test_the_headers_of_the_page_are_the_secret_ones() -> None:
    """The endings that it lists; the last is a word by itself."""
    sentence = PAGE.partition("secret without being named: ")[2].partition("\n\n")[0]
    names = re.findall(r"`([\w-]+)`", sentence)

    assert len(names) == 11
    assert all(is_secret_header(written) for name in names for written in (name, f"X-{name}".upper(), f"x_{name}"))
    assert all(is_secret_header(f"Their{name}") for name in names[:-1])
    assert not is_secret_header(f"Their{names[-1]}")
