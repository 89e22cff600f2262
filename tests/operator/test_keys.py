"""Does whoever has an installation's AWS credentials get keys of it, and nobody's secret afterwards?"""

import asyncio

import pytest

from tests.operator.conftest import STAGE
from tests.support.installation import Installation
from tickwright.api.exchange import Caller
from tickwright.api.keys import look_up
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Refusal
from tickwright.domain.tenants import Scope
from tickwright.operator.__main__ import UNREACHABLE, main
from tickwright.wiring.aws import kit_from_env


def whose(installation: Installation, secret: str) -> Caller | Refusal:
    """What the API makes of a secret."""
    return asyncio.run(look_up(kit_from_env(installation.environment), f"Bearer {secret}"))


def keys(*arguments: str) -> int:
    """One of the commands."""
    action, *more = arguments
    return main(["keys", action, "--stage", STAGE, *more])


@pytest.mark.slow
@pytest.mark.sem("SEM-KEY-1")
def test_a_key_that_was_made_opens_the_door_until_it_is_revoked(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """The secret stands alone on its line, and in no list; who made the key is told before and after its end."""
    made = keys("make", "--tenant", "acme", "--scopes", "jobs:read", "--label", "for reports", "--days", "3")
    secret = capsys.readouterr().out.strip()
    before = whose(installation, secret)
    listed = keys("list", "--tenant", "acme")
    line = capsys.readouterr().out
    revoked = keys("revoke", "--tenant", "acme", "--key", line.split()[0])
    shown = capsys.readouterr().out

    assert (made, listed, revoked) == (0, 0, 0)
    assert secret.startswith("tw_")
    assert before == Caller(tenant_id=TenantId("acme"), scopes=frozenset({Scope.JOBS_READ}), label="for reports")
    assert (line.split()[1], line.count("\n"), secret in line) == ("valid", 1, False)
    assert (shown.split()[0], shown.split()[1]) == (line.split()[0], "over")
    assert [one.split()[5] for one in (line, shown)] == ["arn:aws:iam::000000000000:root"] * 2
    assert isinstance(whose(installation, secret), Refusal)


@pytest.mark.slow
def test_whoever_aws_does_not_know_makes_no_key(
    installation: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is never made by nobody: without an answer of STS there is none, and one line says why."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")

    status = keys("make", "--tenant", "unsaid")

    said = capsys.readouterr()
    assert (status, said.out) == (UNREACHABLE, "")
    assert "STS did not say whose credentials these are" in said.err
    keys("list", "--tenant", "unsaid")
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_key_is_its_tenants_alone(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody revokes a key by another tenant's name, and no list shows one."""
    keys("make", "--tenant", "globex")
    secret = capsys.readouterr().out.strip()
    keys("list", "--tenant", "globex")
    key_id = capsys.readouterr().out.split()[0]

    status = keys("revoke", "--tenant", "initech", "--key", key_id)
    said = capsys.readouterr().err
    listed = keys("list", "--tenant", "initech")

    assert (status, key_id in said) == (1, True)
    assert (listed, capsys.readouterr().out) == (0, "")
    assert isinstance(whose(installation, secret), Caller)


@pytest.mark.slow
def test_keys_and_tenants_are_listed_without_a_tenant(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever looks after an installation need not know their names; no secret is shown."""
    keys("make", "--tenant", "umbrella")
    secret = capsys.readouterr().out.strip()

    statuses = (keys("list"), main(["tenants", "list", "--stage", STAGE]))

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (key, tenant) = (line for line in lines if line[0] == "umbrella")
    assert statuses == (0, 0)
    assert (key[2], tenant[1:4], tenant[4]) == ("valid", ["there", "1", "1"], key[3])
    assert secret not in str(lines)


@pytest.mark.slow
def test_an_installation_that_is_not_there_is_named(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stage that was mistyped ends with one line, which names the stack that was looked for."""
    status = main(["keys", "list", "--stage", "nowhere", "--tenant", "acme"])

    said = capsys.readouterr()
    assert (status, said.out, said.err.count("\n")) == (UNREACHABLE, "", 1)
    assert "no installation of the stage 'nowhere'" in said.err
    assert "no stack Tickwright-nowhere-Core in us-east-1" in said.err


@pytest.mark.slow
def test_every_command_says_which_account_and_region_it_acts_on(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, before it does anything: what is piped on stays as it is."""
    keys("list", "--tenant", "nobody")

    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"tickwright: the stage '{STAGE}' of account 000000000000, us-east-1\n")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["make"], "--tenant"),
        (["make", "--tenant", "a b"], "'a b' is no tenant's name: letters, digits, - and _, up to 64 in all"),
        (["make", "--tenant", "acme", "--days", "0"], "'0' is no number of days from 1 to 3650"),
        (["make", "--tenant", "acme", "--days", "ten"], "'ten' is no number of days from 1 to 3650"),
        (["make", "--tenant", "acme", "--scopes", "jobs:read,all"], "'all' is no scope; there are jobs:read, "),
        (["revoke", "--tenant", "a"], "--key"),
    ],
)
def test_what_no_command_takes_is_refused_before_anything_is_asked(
    wrong: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what it would take."""
    with pytest.raises(SystemExit) as ended:
        keys(*wrong)

    assert ended.value.code == 2
    assert said in capsys.readouterr().err
