"""A machine of the fleet as a plain process, on the deployed tables and queues of two local engines."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio

from tests.e2e.fleet_handlers import FOLDER
from tests.support.builders import TENANT
from tests.support.emulators.server import Emulator
from tests.support.installation import Installation, in_environment, install
from tests.unit.adapters.ecs.test_protection import GRANTED, an_agent
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.sqs.queue import SqsQueue
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import HashIdentity
from tickwright.domain.transitions import State
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit
from tickwright.wiring.aws import kit_from_env

_ROOT = Path(__file__).parents[2]
_PATHS = (_ROOT, _ROOT / "layers" / "core" / "python", _ROOT / "layers" / "sdk" / "python")
_NUMBERS = count(1)
_WAIT_MS = 30_000
_STOP_S = 12
# A fifth: what hears no wish to stop is let go of after a second and a bit, instead of six.
_SCALE = "0.2"

Program = subprocess.Popen[str]


@dataclass(slots=True)
class Fleet:
    """An installation, and the machines that a test starts in it."""

    installation: Installation
    folder: Path
    kit: Kit
    port: int = 0
    ended: list[str] = field(default_factory=list)  # what each machine printed

    @contextmanager
    def machine(self, **more: str) -> Iterator[Program]:
        """A process of its own, with what more its environment says; killed at the end if it still runs."""
        self.port = free_port()
        own = {
            "PYTHONPATH": os.pathsep.join(map(str, _PATHS)),
            "TICKWRIGHT_FLEET": "Tests",
            "TICKWRIGHT_PLACES": "high=4,normal=4,low=1",
            "TICKWRIGHT_HANDLERS": "tests.e2e.fleet_handlers:worker",
            "TICKWRIGHT_STOP_S": str(_STOP_S),
            "TICKWRIGHT_HEALTH_PORT": str(self.port),
            FOLDER: str(self.folder),
        }
        program = subprocess.Popen(
            [sys.executable, "-m", "functions.fargate_worker.main"],
            env={**os.environ, **own, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
        )
        try:
            yield program
        finally:
            program.kill()
            self.ended.append(program.communicate()[0])

    async def submit(self, handler: str, payload: object = None, *, times: int = 1, lane: str = "normal") -> list[Head]:
        """Jobs that are due at once."""
        at = to_rfc3339(Instant(self.kit.clock.now() + 500))
        body = {
            "schedule": {"runAt": at},
            "target": {"type": "python", "handler": handler},
            "payload": payload,
            "priority": lane,
        }
        spec = read_spec(body, identity=HashIdentity("acme", "job"), now=self.kit.clock.now())
        answers = [
            await submit(self.kit, TENANT, spec, RequestKey(key=f"POST /v1/jobs {next(_NUMBERS)}", body_hash="a" * 64))
            for _ in range(times)
        ]
        return [answer.head for answer in answers if isinstance(answer, Submitted)]

    async def rows(self, heads: list[Head]) -> list[Execution]:
        """The executions of jobs."""
        lists = [await self.kit.store.executions_of(head.job_id, limit=10) for head in heads]
        return [row for listing in lists for row in listing.items]

    async def all_in(self, heads: list[Head], state: State) -> bool:
        """Whether each job's one execution is there."""
        return [row.state for row in await self.rows(heads)] == [state] * len(heads)

    async def until(self, happens: Callable[[], Awaitable[bool]]) -> None:
        """Wait for something, as long as a slow machine may take."""
        ends_ms = self.kit.clock.monotonic_ms() + _WAIT_MS
        while not await happens():
            assert self.kit.clock.monotonic_ms() < ends_ms, "it did not happen"
            await self.kit.clock.sleep_ms(100)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    return port


@pytest_asyncio.fixture
async def fleet(dynamodb_local: Emulator, ministack: Emulator, tmp_path: Path) -> AsyncIterator[Fleet]:
    """An installation of its own."""
    installation = install(dynamodb_local.endpoint, ministack.endpoint, f"fleet-{next(_NUMBERS)}-")
    with in_environment(installation.environment | {"TICKWRIGHT_SCALE": _SCALE}):
        kit = kit_from_env(os.environ)
        yield Fleet(installation=installation, folder=tmp_path, kit=kit)
        cast("DynamoDbStore", kit.store).close()
        cast("SqsQueue", kit.queue).close()


async def ended(program: Program, within_s: float) -> int:
    """Its exit status; fails if it takes longer."""
    return await asyncio.to_thread(program.wait, timeout=within_s)


async def has_come(asked: list[tuple[str, str, object]]) -> bool:
    """Whether the agent has been asked anything."""
    return bool(asked)


def well(port: int) -> int:
    """What the probe of the container says, as its exit status."""
    probed = subprocess.run(
        [sys.executable, "-m", "functions.fargate_worker.probe"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS)), "TICKWRIGHT_HEALTH_PORT": str(port)},
        check=False,
    )
    return probed.returncode


@pytest.mark.slow
@pytest.mark.sem("SEM-FLEET-1")
async def test_a_machine_runs_python_jobs_of_each_lane_and_low_under_a_herd_of_high(fleet: Fleet) -> None:
    """Four places are held by high runs that take long, more of them wait; the low ones end meanwhile."""
    herd = await fleet.submit("slow", 60, times=8, lane="high")
    low = await fleet.submit("quick", 1, times=3, lane="low")
    normal = await fleet.submit("quick", 1, times=3)

    with fleet.machine():
        await fleet.until(lambda: fleet.all_in([*low, *normal], State.SUCCEEDED))
        held = [row.state for row in await fleet.rows(herd)]

    assert sorted(state.value for state in held) == ["QUEUED"] * 4 + ["RUNNING"] * 4


@pytest.mark.slow
@pytest.mark.sem("SEM-FLEET-2", "SEM-DRAIN-1")
async def test_sigterm_ends_a_machine_in_time_and_leaves_what_does_not_end_to_its_lease(fleet: Fleet) -> None:
    """A short run ends well, one that hears nothing is told of; another machine finishes it when its lease is over."""
    short = await fleet.submit("slow", 4, lane="high")
    deaf = await fleet.submit("deaf")

    with fleet.machine() as machine:
        await fleet.until(lambda: fleet.all_in([*short, *deaf], State.RUNNING))
        began_ms = fleet.kit.clock.monotonic_ms()
        machine.send_signal(signal.SIGTERM)
        status = await ended(machine, _STOP_S)
        took_ms = fleet.kit.clock.monotonic_ms() - began_ms
    (row,) = await fleet.rows(deaf)
    with fleet.machine():
        await fleet.until(lambda: fleet.all_in([*short, *deaf], State.SUCCEEDED))

    assert (status, row.state, row.attempt) == (0, State.RUNNING, 1), fleet.ended
    assert EventName.EXECUTION_LEFT.value in fleet.ended[0]
    assert took_ms < 1_000 * _STOP_S
    assert [(one.attempt, one.lease_epoch) for one in await fleet.rows([*short, *deaf])] == [(1, 1), (2, 2)]


@pytest.mark.slow
@pytest.mark.sem("SEM-FLEET-3")
async def test_a_machine_on_ecs_is_protected_once_it_has_a_run(fleet: Fleet) -> None:
    """Asked of the agent that ECS names, and not before there is a reason."""
    with an_agent((200, GRANTED)) as (uri, asked), fleet.machine(ECS_AGENT_URI=uri):
        await fleet.until(lambda: asyncio.to_thread(lambda: well(fleet.port) == 0))
        asked_idle = list(asked)
        deaf = await fleet.submit("deaf")
        await fleet.until(lambda: fleet.all_in(deaf, State.RUNNING))
        await fleet.until(lambda: has_come(asked))

    assert asked_idle == []
    assert [body for _, _, body in asked] == [{"ProtectionEnabled": True, "ExpiresInMinutes": 15}]


@pytest.mark.slow
async def test_the_probe_says_whether_a_machine_answers(fleet: Fleet) -> None:
    """Well while it works, also when it drains; not before it has started or after it has ended."""
    with fleet.machine() as machine:
        deaf = await fleet.submit("deaf")
        await fleet.until(lambda: fleet.all_in(deaf, State.RUNNING))
        working = well(fleet.port)
        machine.send_signal(signal.SIGTERM)
        draining = well(fleet.port)
        await ended(machine, _STOP_S)
        gone = well(fleet.port)

    assert (working, draining, gone) == (0, 0, 1)


def refusal(environment: dict[str, str]) -> str:
    """The one line of a machine that cannot start."""
    program = subprocess.run(
        [sys.executable, "-m", "functions.fargate_worker.main"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS)), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (program.returncode, program.stdout) == (2, "")
    assert program.stderr.count("\n") == 1, program.stderr
    return program.stderr


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TICKWRIGHT_PLACES": "urgent=1"}, "TICKWRIGHT_PLACES"),
        ({"TICKWRIGHT_HANDLERS": "no.such.module:worker"}, "ModuleNotFoundError"),
        ({"TICKWRIGHT_HANDLERS": "json:loads"}, "a worker or a registry"),
        ({}, "TICKWRIGHT_STAGE"),
    ],
)
def test_what_cannot_start_says_why_in_one_line(environment: dict[str, str], said: str) -> None:
    """The log of a container that ends at once is read by somebody in a hurry."""
    assert said in refusal(environment)
