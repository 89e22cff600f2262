"""Every call that a machine of the fleet makes is one that its role allows: recorded from the real loop."""

import asyncio
import os
from dataclasses import replace

import pytest

from tests.infra import test_calls
from tests.infra.idle_rights import idle, idle_in_control
from tests.infra.recorded import Installation
from tests.infra.test_grants import meant, out_of_reach
from tests.support.builders import TENANT, an_execution, an_id
from tests.support.kits import LoggedRunner
from tickwright.domain.attempts import Failure, Fatal, Success, UserResult, an_error
from tickwright.domain.changes.executions import Insert
from tickwright.domain.ids import WorkerId, manual_key
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import FARGATE
from tickwright.fleet_settings import fleet_from_environment
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.runner import Invocation
from tickwright.services.hints import hint_of
from tickwright.services.webhook_secrets import SecretsInUse
from tickwright.wiring.fleet import Machine, machine_from_env

WORKING_MS = 6_000
installation = test_calls.installation


async def does(invocation: Invocation) -> UserResult:
    """Ends as the handler's name says; `broken` ends well the second time."""
    invocation.log.write("said\n")
    handler = invocation.definition.spec.target.settings["handler"]
    if handler == "endless":
        await invocation.wait_cancelled()
    if handler == "dead":
        return Fatal(error=an_error("Dead", "for ever"))
    if handler == "broken" and invocation.execution.attempt == 1:
        return Failure(error=an_error("Broken", "once"))
    return Success(result='"ok"')


async def work(machine: Machine) -> None:
    """Serve the fleet's lanes for a while, then stop."""
    runner = LoggedRunner(clock=machine.kit.clock, does=does)
    loop = WorkerLoop(
        machine.kit,
        {"python": runner},
        WorkerId("machine"),
        places={Lane.HIGH: 10, Lane.NORMAL: 10},
        pools=(FARGATE,),
        grace_ms=5_000,
    )
    stop = asyncio.Event()
    going = asyncio.create_task(loop.run(stop))
    await machine.kit.clock.sleep_ms(WORKING_MS)
    stop.set()
    await going
    await SecretsInUse(kit=machine.kit, key=b"a key").of(TENANT)


def run_again(installation: Installation) -> None:
    """A run with a payload of its own, which is not there any more."""
    job = installation.submit("again", {"every": "PT1H"}, target={"type": "python", "handler": "well"})
    kit, now = installation.kit("api"), installation.now()
    first = an_execution(job_id=job["jobId"], scheduled_at=now, pool=FARGATE)
    run = replace(first, key=manual_key(now, an_id(7)), rerun_of=first.key)
    installation.stage("api", kit.store.write(Insert(execution=run)))
    installation.stage("api", kit.queue.send([hint_of(run)], now))


@pytest.mark.slow
def test_no_machine_of_the_fleet_makes_a_call_that_its_role_forbids(installation: Installation) -> None:
    """Runs that end well, that are tried again, that die and that are given back: each call is granted, and no more."""
    for handler in ("well", "broken", "dead", "endless"):
        installation.submit(
            handler,
            installation.soon(20),
            target={"type": "python", "handler": handler},
            retryPolicy={"maxAttempts": 3, "backoff": {"initialSec": 0.2, "maxSec": 0.5}},
        )
    run_again(installation)
    installation.calling = "fargate"

    with asyncio.Runner() as runner:
        runner.run(work(machine_from_env(os.environ, fleet_from_environment(os.environ))))

    used = installation.used["fargate"]
    assert used - meant("fargate") == set()
    assert out_of_reach("fargate", installation.keys["fargate"]) == set()
    assert idle("fargate", used) == set()
    assert idle_in_control("fargate", installation.keys["fargate"]) == set()
    # So much at least has been tried.
    assert {
        ("sqs:ReceiveMessage", "QueueFargateNormal"),
        ("sqs:DeleteMessage", "QueueFargateNormal"),
        ("sqs:SendMessage", "QueueFargateNormal"),
        ("sqs:SendMessage", "QueueDeadExecutions"),
        ("dynamodb:GetItem", "Jobs"),
        ("dynamodb:UpdateItem", "Executions"),
        ("dynamodb:PutItem", "Control"),
    } <= used
