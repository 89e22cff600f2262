"""Does a machine of the fleet ask again, at each attempt, which handlers its installation lists?"""

import json
from collections import defaultdict

import pytest

from tests.unit.targets.invocations import an_invocation
from tickwright.domain.attempts import Fatal
from tickwright.domain.jobs import Target
from tickwright.fleet_settings import fleet_from_environment
from tickwright.wiring.fleet import machine_from_env


@pytest.mark.sem("SEM-TARGET-5")
async def test_a_machine_goes_by_the_installations_list_of_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list in its environment is the one that its runner asks."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    environ = defaultdict(
        lambda: "x",
        TICKWRIGHT_BUCKETS="1",
        TICKWRIGHT_BUCKETS_SERVED="1",
        TICKWRIGHT_EPOCH_BASE="0",
        TICKWRIGHT_SCALE="1",
        TICKWRIGHT_TARGETS=json.dumps({"*": ["python:billing.*"]}),
        TICKWRIGHT_WEBHOOK_KEY="k",
    )
    machine = machine_from_env(environ, fleet_from_environment({}))
    refused = await machine.runners["python"].run(an_invocation(Target(kind="python", settings={"handler": "it"})))
    machine.hands.leave()

    assert isinstance(refused, Fatal)
    assert refused.error.error_class == "TargetNotAllowed"
