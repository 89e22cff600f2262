"""An installation on AWS as its operator has it: found by its stage, with the credentials of whoever asks.

The stack Core says in an output what the environment of every function is, and nothing secret is in it: what the
operator's commands use is what the functions use. Must not know a command.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tickwright.adapters.aws.clients import sqs_client
from tickwright.adapters.aws.identity import CallerUnknown, caller_arn
from tickwright.adapters.aws.outputs import StackMissing, StackUnreadable, output_of
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.exchange import line_of, record_of
from tickwright.adapters.sqs.intake import SqsLeftIntake
from tickwright.ports.intake import Intake, LeftIntake
from tickwright.ports.whole import Whole
from tickwright.settings import Settings, from_environment
from tickwright.wiring.aws import AwsKit, kit_from
from tickwright.wiring.intake import intake_from_env

__all__ = [
    "OUTPUT",
    "InstallationUnreachable",
    "Installed",
    "installed",
    "intake_of",
    "left_intake",
    "line_of",
    "record_of",
    "set_aside_of",
]

OUTPUT = "Environment"
_REGION = re.compile(r"https://sqs\.([a-z0-9-]+)\.amazonaws\.")
_LOOK = "(AWS_PROFILE and AWS_REGION say whose, and where)"


class InstallationUnreachable(Exception):  # noqa: N818 - says what happened to it
    """None of this stage was found, or nothing could be asked; the message says which, and what to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One installation: where it is, what its functions are told (no secret among it), the ports in one hand."""

    place: str
    settings: Settings
    kit: AwsKit
    whole: Whole
    environment: Mapping[str, str]

    def caller(self) -> str:
        """Whose credentials these are, as AWS says; raises InstallationUnreachable."""
        try:
            return caller_arn()
        except CallerUnknown as fault:
            raise InstallationUnreachable(f"{fault} {_LOOK}") from fault


def installed(stage: str) -> Installed:
    """Find it; raises InstallationUnreachable."""
    try:
        said = output_of(f"Tickwright-{stage}-Core", OUTPUT)
    except StackMissing as fault:
        raise InstallationUnreachable(f"no installation of the stage {stage!r}: {fault} {_LOOK}") from fault
    except StackUnreadable as fault:
        raise InstallationUnreachable(f"{fault} {_LOOK}") from fault
    environment = json.loads(said.value)
    settings = from_environment(environment)
    kit = kit_from(settings)
    assert isinstance(kit.store, DynamoDbStore)
    place = f"account {said.account}, {said.region}"
    return Installed(place=place, settings=settings, kit=kit, whole=kit.store.whole(), environment=environment)


def intake_of(found: Installed) -> Intake:
    """Where its submissions wait; also where it accepts none, since what waits there lands."""
    intake = intake_from_env(found.environment, found.kit)
    if intake is None:
        raise InstallationUnreachable(_no_intake(found))
    return intake


def left_intake(found: Installed, url: str) -> LeftIntake:
    """A queue of some installation, in the region that its address names."""
    named = _REGION.match(url)
    client = sqs_client(region=None if named is None else named[1])
    return SqsLeftIntake(client, url, clock=found.kit.clock, entropy=found.kit.entropy)


def set_aside_of(found: Installed) -> LeftIntake:
    """What of this installation was set aside, or could not be landed."""
    url = found.environment.get("TICKWRIGHT_QUEUE_INTAKE_UNDELIVERED")
    if url is None:
        raise InstallationUnreachable(_no_intake(found))
    return left_intake(found, url)


def _no_intake(found: Installed) -> str:
    return f"the stage {found.settings.stage!r} has no intake: deploy this version of it"
