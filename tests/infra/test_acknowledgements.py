"""The table of acknowledged findings: complete, reasoned, and not a row too many."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infra import gate
from infra.context import context_of_cdk_json
from infra.policy.acknowledgements import ACKNOWLEDGED
from infra.policy.checks import Finding
from infra.policy.everything import EVERYTHING
from infra.settings import STAGES, Settings


def test_every_acknowledgement_has_a_reason_worth_reading() -> None:
    """A reason is a sentence that somebody could disagree with."""
    assert [row.rules for row in ACKNOWLEDGED if len(row.reason.split()) < 5] == []
    assert [row.rules for row in ACKNOWLEDGED if not row.reason.endswith(".")] == []


def test_no_construct_is_acknowledged_twice_for_one_rule() -> None:
    """Two reasons for one silence: one of them is wrong."""
    silences = [(rule, place) for row in ACKNOWLEDGED for rule in row.rules for place in row.where]

    assert len(silences) == len(set(silences))


@pytest.mark.parametrize("settings", [STAGES["dev"], STAGES["prod"], EVERYTHING], ids=lambda settings: settings.stage)
def test_the_packs_find_nothing_that_is_not_acknowledged(tmp_path: Path, settings: Settings) -> None:
    """AwsSolutions and Serverless, on the smallest stage, on the one people rely on, and with every option on."""
    context = context_of_cdk_json(packaging=False)

    assert gate.synthesise(settings, context=context, outdir=tmp_path) == []


def test_without_the_table_the_packs_do_find_something(tmp_path: Path) -> None:
    """So the silence above is the table's doing, and every row of it silences something."""
    silenced, stale = gate.acknowledged(outdir=tmp_path)

    assert silenced > 0
    assert stale == []


# --- what the gate says -----------------------------------------------------------------------------------------
def quick(monkeypatch: pytest.MonkeyPatch, folder: Path, judge: Callable[..., list[Finding]]) -> None:
    """The gate on one stage, without what takes its time."""
    monkeypatch.setattr(gate, "_OUT", folder / "gate")
    monkeypatch.setattr(gate, "JUDGED", (STAGES["dev"],))
    monkeypatch.setattr(gate, "synthesise", judge)
    for name in ("check", "check_containers", "check_alarms", "check_packages", "_lint"):
        monkeypatch.setattr(gate, name, lambda _: [])
    monkeypatch.setattr(gate, "acknowledged", lambda *, outdir: (len(outdir.name), []))
    monkeypatch.setattr(gate, "_parity", list)


def loud(finding: list[Finding]) -> Callable[..., list[Finding]]:
    """As CDK is, whatever it finds."""

    def judge(_: Settings, *, outdir: Path, **__: object) -> list[Finding]:
        outdir.mkdir(parents=True)
        (outdir / "manifest.json").write_text("{}", encoding="utf-8")
        sys.stderr.buffer.write(b"ERROR what is acknowledged\n")
        return finding

    return judge


@pytest.mark.parametrize("findings", [[], [Finding("Pack-1", "Api/Gateway", "it is open")]], ids=["none", "one"])
def test_the_gate_says_what_it_judges_and_what_it_finds_alone(
    findings: list[Finding], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What CDK says of what is meant to be would hide it."""
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    quick(monkeypatch, tmp_path, loud(findings))

    status = gate.main()

    first, *told, last = capsys.readouterr().out.splitlines()
    assert (status, first) == (len(findings), "judging the stage dev")
    assert told == [f"{one.rule}  {one.where}  {one.message}" for one in findings]
    assert json.loads(last) == {"findings": len(findings), "acknowledged": 10, "stages": ["dev"]}


def test_a_gate_that_fails_says_all_that_cdk_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fault is no finding, and its cause may stand there alone."""

    def fail(_: Settings, **__: object) -> list[Finding]:
        sys.stderr.buffer.write(b"the cause\n")
        raise RuntimeError("synthesis failed")

    quick(monkeypatch, tmp_path, fail)

    with pytest.raises(RuntimeError, match="synthesis failed"):
        gate.main()

    assert capsys.readouterr().err == "the cause\n"


def test_what_a_pack_finds_is_told_with_where_to_acknowledge_it() -> None:
    """CDK's hint names a method that nothing here calls."""
    found = {"ruleName": "Pack-1", "description": "It is open.", "violatingConstructs": [{"constructPath": "Api"}]}

    (finding,) = gate._violations({"pluginReports": [{"violations": [found]}]})  # noqa: SLF001

    assert finding.message.startswith("It is open. (mend it, or say in a row of infra/policy/acknowledgements.py")
