"""Does an operator's terminal export a tenant, import it, delete it, and relist a copy of tables?"""

import asyncio
import io
import json
import re
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.operator.conftest import STAGE
from tests.support.installation import Installation
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.schedules import HashIdentity
from tickwright.operator.__main__ import COMMANDS, MISTAKEN, main, parser
from tickwright.operator.recovery import BASE_TOO_LOW
from tickwright.operator.tenants import COME_AGAIN, LEFT_OUT
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit
from tickwright.wiring.aws import kit_from_env


def run(*arguments: str) -> int:
    """One command."""
    thing, action, *more = arguments
    return main([thing, action, "--stage", STAGE, *more])


def a_job_of(installation: Installation, tenant_id: str) -> str:
    """Of a tenant of its own, an hour away."""

    async def submitted(kit: Kit) -> Submitted:
        in_an_hour = to_rfc3339(Instant(kit.clock.now() + 3_600_000))
        body = {"schedule": {"runAt": in_an_hour}, "target": {"type": "python", "handler": "echo"}}
        spec = read_spec(body, identity=HashIdentity(tenant_id, "job"), now=kit.clock.now())
        made = await submit(kit, TenantId(tenant_id), spec, RequestKey(key=f"POST {tenant_id}", body_hash="a" * 64))
        assert isinstance(made, Submitted)
        return made

    return str(done(submitted(kit_from_env(installation.environment))).head.job_id)


def done(work: Coroutine[Any, Any, Submitted]) -> Submitted:
    """Its result."""
    return asyncio.run(work)


@pytest.mark.slow
@pytest.mark.sem("SEM-TENANT-4")
def test_a_tenant_goes_through_a_pipe(
    installation: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is already nothing is made; lines that were cut off, or are none, end it with status 1."""
    job_id = a_job_of(installation, "piped")
    exported = run("tenants", "export", "--tenant", "piped")
    lines = capsys.readouterr().out

    def imported(text: str, tenant: str = "piped") -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        status = run("tenants", "import", "--tenant", tenant)
        said = capsys.readouterr()
        return status, said.out + said.err

    assert exported == 0
    assert job_id in lines
    status, said = imported(lines)
    assert (status, said.startswith("1 there already\n")) == (0, True)
    status, said = imported(lines.splitlines(keepends=True)[0])
    assert (status, "cut off" in said) == (LEFT_OUT, True)
    status, said = imported(lines, "victim")
    assert (status, "not of 'victim'" in said) == (LEFT_OUT, True)
    opening, _, end = lines.splitlines(keepends=True)
    status, said = imported(opening + end)
    assert (status, "2 lines before its end, and 1 came" in said) == (LEFT_OUT, True)
    status, said = imported("nonsense\n")
    assert (status, "line 1 was not imported" in said) == (LEFT_OUT, True)


@pytest.mark.slow
@pytest.mark.sem("SEM-TENANT-2")
def test_a_tenant_is_deleted_by_whoever_names_it_twice(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told not to wait it says when it goes on."""
    a_job_of(installation, "leaving")

    first = run("tenants", "delete", "--tenant", "leaving", "--really", "leaving", "--no-wait")
    said = capsys.readouterr()

    assert first == COME_AGAIN
    assert "resting: 0 keys revoked, 1 jobs" in said.out


@pytest.mark.slow
@pytest.mark.sem("SEM-RECOVERY-1")
def test_relisting_says_what_there_is(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """As one line of JSON."""
    a_job_of(installation, "relisted")

    status = run("recovery", "relist", "--restored-to", "2026-11-30T12:00:00Z")

    told = json.loads(capsys.readouterr().out)
    assert status == 0 != BASE_TOO_LOW
    assert "relisted" in told["tenants"]
    assert told["jobs"] >= 1
    assert (told["executions"], told["highestEpoch"], told["epochBase"]) == (0, 0, 0)


def test_a_tenant_that_is_named_twice_in_two_ways_is_not_even_looked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slip needs no credentials to be told, and touches nothing."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")

    status = run("tenants", "delete", "--tenant", "leaving", "--really", "leeving")

    assert status == MISTAKEN
    assert capsys.readouterr().err == "tickwright: --really says leeving, --tenant leaving: nothing was done\n"


@pytest.mark.parametrize("text", ["yesterday", "2026-11-30", ""])
def test_an_instant_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is asked."""
    with pytest.raises(SystemExit):
        parser().parse_args(["recovery", "relist", "--stage", STAGE, "--restored-to", text])
    said = capsys.readouterr().err
    assert f"--restored-to: {text!r} is not an RFC 3339 instant" in said
    assert "write it as 20" in said


def test_the_help_lists_every_command() -> None:
    """With what it does, so that nobody has to ask each thing for its own."""
    told = parser().format_help()

    for command in COMMANDS:
        assert re.search(rf"^  {' '.join(command.words)} +{re.escape(command.says)}$", told, re.MULTILINE)
