"""Every command of docs/dead-letters.md does what the page says, against the local server."""

import re
import shlex
from collections.abc import AsyncIterator
from string import Template
from typing import Any

import httpx
import pytest

from tests.api.client import Client
from tests.api.test_dead_letters import a_dead_one, listed
from tests.tidy.tree import ROOT
from tickwright.api.call import Api
from tickwright.api.server import HttpServer
from tickwright.loops.watch import WatchLoop

COMMANDS = re.findall(r"```\n(curl .*?)```", (ROOT / "docs" / "dead-letters.md").read_text(), re.DOTALL)


@pytest.fixture
async def url(api: Api) -> AsyncIterator[str]:
    """Where the server listens."""
    made = HttpServer(api, port=0)
    await made.start()
    yield made.url
    await made.stop()


async def typed(command: str, names: dict[str, str]) -> Any:  # noqa: ANN401 - JSON
    """What a command of curl, as a shell would read it, is answered."""
    filled = Template(command.replace("\\\n", " ")).substitute(names)
    words = iter(shlex.split(filled)[1:])
    method, headers, body, url = "GET", {}, None, ""
    for word in words:
        match word:
            case "-s":
                continue
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d":
                body = next(words)
            case _:
                url = word
    async with httpx.AsyncClient(trust_env=False) as client:
        got = await client.request(method, url, headers=headers, content=body)
    assert got.is_success, got.text
    return got.json()


def command(words: str) -> str:
    """The one command of the page with these words."""
    (found,) = [one for one in COMMANDS if words in one]
    return str(found)


async def test_the_commands_of_the_page_do_what_it_says(acme: Client, url: str) -> None:
    """Look, redrive one and many, cancel, run again, discard: one after the other, on real deaths."""
    assert len(COMMANDS) == 11
    names = {"URL": url, "AUTH": f"Authorization: Bearer {acme.secret}", "JSON": "Content-Type: application/json"}
    ids = [await a_dead_one(acme, "DbError", payload={"month": None}) for _ in range(6)]
    names["EXECUTION"] = ids[0]

    groups = await typed(command("/groups"), names)
    letters = await typed(command("since="), names)
    letter = await typed(command('dead-letters/$EXECUTION"'), names)
    redriven = await typed(command('/redrive"'), names)
    dry = await typed(command("dryRun"), names)
    names["ORDER"] = (await typed(command("canary"), names))["orderId"]
    await WatchLoop(acme.api.kit).look()
    order = await typed(command('redrives/$ORDER"'), names)
    cancelled = await typed(command("$ORDER/cancel"), names)
    left = await listed(acme)
    names["EXECUTION"] = left[0]
    new = await typed(command("/rerun"), names)
    names["EXECUTION"] = await a_dead_one(acme, "Closed")
    gone = await typed(command("executionIds"), names)
    all_gone = await typed(command("went wrong"), names)

    assert [group["count"] for group in groups["groups"]] == [len(letters["deadLetters"])] == [6]
    assert (letter["payload"], redriven["generation"], dry["count"]) == ({"month": None}, 2, 5)
    assert (order["redriven"], cancelled["status"], len(left)) == (3, "CANCELLED", 2)
    assert (new["rerunOf"], gone["discarded"], all_gone["discarded"]) == (left[0], 1, 1)
    assert await listed(acme) == []
