"""Goes back to the version that is checked out: `python -m infra.rollback STAGE`.

What a stack shows others cannot be taken away while another uses it, so stacks that the version does not have are
deleted first, and the others are deployed from who uses most to who is used by all. Must not know what is in them.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from infra.context import ROOT
from infra.settings import settings_of

# Nobody stands on the first one, and all stand on the last.
LAST_FIRST = ("Observability", "Api", "Workers", "Core", "Data")
_GONE = ("DELETE_COMPLETE", "DELETE_IN_PROGRESS")
_OUT = ROOT / "cdk.out"
_BASE = re.compile(r'"TICKWRIGHT_EPOCH_BASE\\?": ?\\?"(\d+)')
_IMPORT = re.compile(r'"Fn::ImportValue":\s*"([^"]+)"')

Command = Sequence[str]
Run = Callable[[Command], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What is there: stacks of the stage, the newest first, the names of what they show, and where epochs begin."""

    stacks: tuple[str, ...]
    exports: frozenset[str]
    epoch_base: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Stacks to delete and then to deploy, each in order. `lacking`, `base_falls`: why neither can be done."""

    delete: tuple[str, ...]
    deploy: tuple[str, ...]
    lacking: tuple[str, ...]
    base_falls: bool = False


def is_of(stage: str, stack: str) -> bool:
    """Whether a stack is one of this stage: a stage `prod` has nothing to say about one that is called `prod-r1`.

    A later version may have stacks that this one has never heard of; the name of each is one word.
    """
    return re.fullmatch(rf"Tickwright-{re.escape(stage)}-[A-Z][A-Za-z0-9]*", stack) is not None


def stacks_of(stage: str, described: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of the stage's own, the newest first: who stands on another was made after it."""
    there = [one for one in described if is_of(stage, one["StackName"]) and one["StackStatus"] not in _GONE]
    there.sort(key=lambda one: cast("float", one["CreationTime"].timestamp()), reverse=True)
    return tuple(one["StackName"] for one in there)


def plan(stage: str, *, templates: Mapping[str, str], deployed: Deployed) -> Plan:
    """From the texts of the templates that are wanted, by the names of their stacks."""
    names = [f"Tickwright-{stage}-{stack}" for stack in LAST_FIRST]
    assert set(templates) <= set(names), "a stack whose place in the order is not known"
    assert names[-1] in templates, "the tables are never deleted"
    assert all(is_of(stage, stack) for stack in deployed.stacks), "another's stack is nobody's to delete"
    wanted = {name for text in templates.values() for name in _IMPORT.findall(text)}
    return Plan(
        delete=tuple(stack for stack in deployed.stacks if stack not in templates),
        deploy=tuple(name for name in names if name in templates),
        lacking=tuple(sorted(wanted - deployed.exports)),
        base_falls=base_in(templates.values()) < deployed.epoch_base,
    )


def base_in(texts: Iterable[str]) -> int:
    """The epoch base that templates, or what a deployed stack says of itself, tell the functions: 0 before bases."""
    return max((int(base) for text in texts for base in _BASE.findall(text)), default=0)


def deploy_command(stack: str) -> Command:
    """One stack alone: CDK would begin with those that it stands on, which is what CloudFormation refuses."""
    return ("npx", "cdk", "deploy", stack, "--exclusively", "--app", str(_OUT))


def go_back(todo: Plan, *, delete: Callable[[str], None], run: Run) -> None:
    """Do it, in order; what fails ends it, and a repeat goes on from there."""
    for stack in todo.delete:
        delete(stack)
    for stack in todo.deploy:
        run(deploy_command(stack))


def _client(service: str) -> Any:  # noqa: ANN401 - botocore makes its clients at run time
    # CDK asks for AWS_REGION first, and botocore does not know it: both have to act on one Region.
    return get_session().create_client(service, region_name=os.environ.get("AWS_REGION"))


def _read(stage: str) -> dict[str, str]:
    return {
        path.name.removesuffix(".template.json"): path.read_text(encoding="utf-8")
        for path in _OUT.glob(f"Tickwright-{stage}-*.template.json")
    }


def _deployed(client: Any, stage: str) -> Deployed:  # noqa: ANN401 - botocore makes its clients at run time
    pages = client.get_paginator("describe_stacks").paginate()
    exports = (one["Name"] for page in client.get_paginator("list_exports").paginate() for one in page["Exports"])
    described = [one for page in pages for one in page["Stacks"]]
    said = (
        output["OutputValue"]
        for one in described
        if is_of(stage, one["StackName"])
        for output in one.get("Outputs", ())
    )
    return Deployed(stacks=stacks_of(stage, described), exports=frozenset(exports), epoch_base=base_in(said))


def _run(command: Command) -> None:
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - a fixed list, and names of stacks


def _say(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def main(stage: str) -> int:
    """Say where, plan, say what and do it."""
    settings_of(stage)
    client = _client("cloudformation")
    account = _client("sts").get_caller_identity()["Account"]
    _say((f"the stage {stage!r} of account {account}, {client.meta.region_name}",))
    os.environ["TICKWRIGHT_STAGE"] = stage
    for old in _OUT.glob("Tickwright-*.template.json"):
        old.unlink()
    _run(("npx", "cdk", "synth", "--quiet", "--output", str(_OUT)))
    todo = plan(stage, templates=_read(stage), deployed=_deployed(client, stage))
    if todo.lacking:
        _say(
            ("This version uses what the deployed one no longer shows; docs/deploy.md says what to do:", *todo.lacking)
        )
        return 1
    if todo.base_falls:
        _say(("The epoch_base of this version is lower than the deployed one: set it to that in infra/settings.py.",))
        return 1
    _say((*(f"delete {stack}" for stack in todo.delete), *(f"deploy {stack}" for stack in todo.deploy)))

    def delete(stack: str) -> None:
        client.delete_stack(StackName=stack)
        client.get_waiter("stack_delete_complete").wait(StackName=stack)

    go_back(todo, delete=delete, run=_run)
    return 0


def told(stage: str) -> int:
    """The same; what ends it is one line, after those of CDK."""
    try:
        return main(stage)
    except (BotoCoreError, ClientError) as fault:
        sys.stderr.write(
            f"AWS refused, or was not reached: {fault} (AWS_PROFILE and AWS_REGION say whose, and where)\n"
        )
    except (subprocess.CalledProcessError, FileNotFoundError) as fault:
        sys.stderr.write(f"{fault}: what it was to do, and all after it, is not done; mend it and repeat\n")
    return 2


if __name__ == "__main__":
    sys.exit(told(sys.argv[1]))
