"""Going back: in the order in which CloudFormation lets a stack cease to show what others use."""

import json
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from infra import rollback
from infra.app import STACKS
from infra.context import ROOT
from infra.policy.templates import Templates
from infra.required import SettingRefused
from infra.rollback import LAST_FIRST, Command, Deployed, base_in, deploy_command, go_back, plan, stacks_of, told
from tests.support.emulators.server import Emulator

_STACKS = tuple(f"Tickwright-prod-{name}" for name in ("Data", "Core", "Workers", "Api", "Observability"))


def texts_of(templates: Templates) -> dict[str, str]:
    return {stack: json.dumps(template) for stack, template in templates.by_stack.items()}


def used_by(text: str) -> set[str]:
    return set(re.findall(r'"Fn::ImportValue": "([^"]+)"', text))


def shown_by(templates: Templates) -> frozenset[str]:
    return frozenset(name for text in texts_of(templates).values() for name in used_by(text))


def described(name: str, *, day: int, status: str = "UPDATE_COMPLETE") -> dict[str, Any]:
    return {"StackName": name, "StackStatus": status, "CreationTime": datetime(2026, 11, day, tzinfo=UTC)}


def test_another_stage_is_left_alone_whatever_it_is_called() -> None:
    """The second installation of a recovery stands in the same account, and its name may begin like the first one's."""
    others = [f"Tickwright-{stage}-{name}" for stage in ("prod-r1", "prod2", "dev", "prod-") for name in STACKS]
    there = [described(name, day=day + 1) for day, name in enumerate((*_STACKS, "Tickwright-prod-Console"))]
    gone = described("Tickwright-prod-Old", day=20, status="DELETE_COMPLETE")

    found = stacks_of("prod", [*(described(name, day=28) for name in others), *there, gone])

    assert found == ("Tickwright-prod-Console", *_STACKS[::-1])


def test_nothing_is_planned_for_a_stack_of_another_stage(prod: Templates) -> None:
    """Whoever has listed it."""
    strange = Deployed(stacks=("Tickwright-prod-r1-Data",), exports=shown_by(prod))

    with pytest.raises(AssertionError, match="another's"):
        plan("prod", templates=texts_of(prod), deployed=strange)


def test_the_order_knows_each_stack() -> None:
    """One that it lacked would never be deployed."""
    assert sorted(LAST_FIRST) == sorted(STACKS)


def test_a_stack_is_taken_back_before_all_that_it_uses(prod: Templates) -> None:
    """Else "Export cannot be deleted as it is in use", for all that a later version has added."""
    texts = texts_of(prod)
    todo = plan("prod", templates=texts, deployed=Deployed(stacks=_STACKS[::-1], exports=shown_by(prod)))

    assert (todo.delete, todo.lacking) == ((), ())
    assert sorted(todo.deploy) == sorted(texts)
    for place, stack in enumerate(todo.deploy):
        done_before = todo.deploy[:place]
        assert not {name.partition(":")[0] for name in used_by(texts[stack])} & set(done_before)


def test_what_the_earlier_version_does_not_have_goes_first(prod: Templates) -> None:
    """It uses the others, and nobody would ever deploy it again."""
    texts = texts_of(prod)
    earlier = {stack: text for stack, text in texts.items() if not stack.endswith("Observability")}
    done: list[str] = []

    def run(command: Command) -> None:
        done.append(" ".join(command))

    todo = plan("prod", templates=earlier, deployed=Deployed(stacks=_STACKS[::-1], exports=shown_by(prod)))
    go_back(todo, delete=lambda stack: done.append(f"delete {stack}"), run=run)

    assert done[0] == "delete Tickwright-prod-Observability"
    assert [line.split()[3] for line in done[1:]] == list(todo.deploy)
    assert all("--exclusively" in line for line in done[1:])
    assert "--all" not in deploy_command("Tickwright-prod-Api")


def test_what_is_no_longer_shown_is_said_before_anything_is_done(prod: Templates) -> None:
    """A version that has taken something away is gone back from in the other order."""
    shown = shown_by(prod)
    lost = min(shown)

    todo = plan("prod", templates=texts_of(prod), deployed=Deployed(stacks=_STACKS[::-1], exports=shown - {lost}))

    assert todo.lacking == (lost,)


@pytest.mark.sem("SEM-EPOCH-3")
def test_a_base_is_not_lowered_by_going_back(prod: Templates) -> None:
    """A version from before a recovery has the settings of before."""
    texts = texts_of(prod)
    raised = {
        stack: text.replace('"TICKWRIGHT_EPOCH_BASE": "0"', '"TICKWRIGHT_EPOCH_BASE": "50000"')
        for stack, text in texts.items()
    }
    before_bases = {stack: text.replace("TICKWRIGHT_EPOCH_BASE", "OTHER") for stack, text in texts.items()}
    deployed = Deployed(stacks=_STACKS[::-1], exports=shown_by(prod), epoch_base=50_000)

    falls = [plan("prod", templates=each, deployed=deployed).base_falls for each in (texts, before_bases, raised)]

    assert falls == [True, True, False]
    assert not plan("prod", templates=texts, deployed=replace(deployed, epoch_base=0)).base_falls


def test_the_deployed_base_is_what_core_says_of_itself() -> None:
    """As its output has it, once CloudFormation has put it together."""
    said = json.dumps({"TICKWRIGHT_STAGE": "prod", "TICKWRIGHT_EPOCH_BASE": "150000"})

    assert base_in([json.dumps({"TICKWRIGHT_EPOCH_BASE": "50000"}), said, "https://example.com"]) == 150_000
    assert base_in([said.replace(" ", "")]) == 150_000
    assert base_in(["https://example.com"]) == 0


def test_the_tables_are_never_among_what_goes(prod: Templates) -> None:
    """Whatever is checked out."""
    texts = texts_of(prod)
    del texts["Tickwright-prod-Data"]

    with pytest.raises(AssertionError, match="never deleted"):
        plan("prod", templates=texts, deployed=Deployed(stacks=_STACKS[::-1], exports=shown_by(prod)))


def test_a_stage_that_is_none_is_refused_before_anything_is_asked() -> None:
    """With the names that exist."""
    with pytest.raises(SettingRefused, match=r"There is no stage 'production'"):
        told("production")


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "Unable to locate credentials"),
        (("AWS_REGION", "AWS_DEFAULT_REGION"), "You must specify a region"),
    ],
)
def test_without_credentials_or_a_region_one_line_says_so(
    lacking: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a minute of synthesis, and without a traceback."""
    for name in lacking:
        monkeypatch.delenv(name, raising=False)

    status = told("prod")

    assert status == 2
    assert capsys.readouterr().err.startswith(f"AWS refused, or was not reached: {said}")


@pytest.mark.slow
def test_it_is_said_where_and_what_cdk_does_not_do_ends_it(
    ministack: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Account and Region (AWS_REGION first, as CDK asks) stand there before anything is deleted or deployed."""

    def refuse(command: Command) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack.endpoint)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("TICKWRIGHT_STAGE", "dev")
    monkeypatch.setattr(rollback, "_OUT", ROOT / "cdk.out" / "none")
    monkeypatch.setattr(rollback, "_run", refuse)

    status = told("prod")

    written = capsys.readouterr()
    assert (status, written.out) == (2, "the stage 'prod' of account 000000000000, eu-central-1\n")
    assert "'cdk', 'synth'" in written.err
    assert "is not done" in written.err
