"""Does the local user get keys of other tenants, and such as may do less?"""

import asyncio
from pathlib import Path

import pytest

from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.api.exchange import Caller
from tickwright.api.keys import look_up
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Refusal
from tickwright.domain.tenants import Scope
from tickwright.local.keys import main
from tickwright.wiring.embedded import embedded_kit


async def _whose(path: Path, secret: str) -> Caller | Refusal:
    async with embedded_kit(path, MemoryTelemetry()) as kit:
        return await look_up(kit, f"Bearer {secret}")


async def _touched(path: Path) -> None:
    async with embedded_kit(path, MemoryTelemetry()):
        return


@pytest.mark.sem("SEM-KEY-1")
def test_a_key_is_made_for_a_tenant_with_the_scopes_that_were_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but the key is printed, so that a shell can keep it."""
    path = tmp_path / "tickwright.db"
    asyncio.run(_touched(path))

    status = main(["--tenant", "acme", "--scopes", "jobs:read,executions:run", "--data", str(tmp_path)])

    said = capsys.readouterr().out
    caller = asyncio.run(_whose(path, said.strip()))
    assert (status, len(said.splitlines())) == (0, 1)
    assert isinstance(caller, Caller)
    assert (caller.tenant_id, caller.scopes) == (TenantId("acme"), frozenset({Scope.JOBS_READ, Scope.EXECUTIONS_RUN}))


def test_where_there_is_no_data_no_key_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that was mistyped is told, and not filled with an empty store."""
    status = main(["--data", str(tmp_path / "mistyped")])

    assert (status, "--data" in capsys.readouterr().err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [["--tenant", "a/b"], ["--tenant", ""], ["--scopes", "jobs"]])
def test_what_is_no_tenant_and_no_scope_is_refused(wrong: list[str]) -> None:
    """As any wrong option."""
    with pytest.raises(SystemExit) as ended:
        main(wrong)

    assert ended.value.code == 2
