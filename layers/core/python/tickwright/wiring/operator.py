"""An installation on AWS as its operator has it: found by its stage, with the credentials of whoever asks.

The stack Core says in an output what the environment of every function is, and nothing secret is in it: what the
operator's commands use is what the functions use. Must not know a command.
"""

import json
from dataclasses import dataclass

from tickwright.adapters.aws.outputs import StackUnreadable, output_of
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.exchange import line_of, record_of
from tickwright.ports.whole import Whole
from tickwright.services.kit import Kit
from tickwright.settings import Settings, from_environment
from tickwright.wiring.aws import kit_from

__all__ = ["OUTPUT", "InstallationUnreachable", "Installed", "installed", "line_of", "record_of"]

OUTPUT = "Environment"


class InstallationUnreachable(Exception):  # noqa: N818 - says what happened to it
    """There is none of this stage for these credentials in this region; the message says what to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One installation: what its functions are told (no secret among it), and the ports in one hand."""

    settings: Settings
    kit: Kit
    whole: Whole


def installed(stage: str) -> Installed:
    """Find it; raises InstallationUnreachable."""
    try:
        environment = json.loads(output_of(f"Tickwright-{stage}-Core", OUTPUT))
    except StackUnreadable as fault:
        raise InstallationUnreachable(f"no installation of the stage {stage!r}: {fault}") from fault
    settings = from_environment(environment)
    kit = kit_from(settings)
    assert isinstance(kit.store, DynamoDbStore)
    return Installed(settings=settings, kit=kit, whole=kit.store.whole())
