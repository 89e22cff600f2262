"""What does a service that never answers keep: its own tenant's calls for their time, and nothing of any other's?"""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.builders import TENANT
from tests.unit.targets.invocations import an_invocation, of_tenant
from tests.unit.targets.servers import Told, a_server
from tickwright.adapters.aws.clients import target_client
from tickwright.adapters.aws.timed import TimedClient
from tickwright.adapters.targets.aws_service import AwsRunner
from tickwright.adapters.targets.lambda_ import LAMBDA
from tickwright.domain.allowed_targets import AllowedTargets
from tickwright.domain.attempts import Failure, NotRun, Success
from tickwright.domain.executions import Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import Target
from tickwright.ports.runner import GoesOn, Invocation

OTHER = TenantId("another")
EVERYTHING = AllowedTargets(patterns={TENANT: ("arn:*",), OTHER: ("arn:*",)})
SILENT, WELL = "eu-west-1", "us-east-1"


class Silence:
    """A service that hears every call and answers none; it knows who hangs up."""

    def __init__(self) -> None:
        self._heard, self._left = threading.Semaphore(0), threading.Semaphore(0)
        self._open: list[socket.socket] = []

    def say(self, handler: Any) -> None:  # noqa: ANN401 - of the standard library's server
        """Nothing."""
        self._open.append(handler.connection)
        self._heard.release()
        if handler.rfile.read(1) == b"":
            self._left.release()

    async def has_heard(self, calls: int) -> bool:
        """So many calls more have come."""
        return all([await asyncio.to_thread(self._heard.acquire, timeout=10) for _ in range(calls)])

    async def is_left(self, calls: int) -> bool:
        """So many more have been given up."""
        return all([await asyncio.to_thread(self._left.acquire, timeout=10) for _ in range(calls)])

    def end(self) -> None:
        """Hang up on who still waits: no thread is to outlive its test."""
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture(autouse=True)
def invented_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a function's environment has them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@contextmanager
def a_runner(silence: Silence, *, places: int) -> Iterator[AwsRunner]:
    """Of clients as the product makes them, to a region whose service is silent and one whose service is well."""
    with a_server(Told(before=silence.say)) as silent, a_server(Told(body=b"1")) as well:
        at = {SILENT: silent, WELL: well}

        def client(service: str, region: str) -> TimedClient:
            return TimedClient(target_client(service, region=region, connections=places, endpoint_url=at[region]))

        runner = AwsRunner(LAMBDA, make_client=client, allowed=EVERYTHING, places=places)
        try:
            yield runner
        finally:
            runner.close()
            silence.end()


def a_call(region: str, tenant_id: TenantId = TENANT, *, left_ms: int) -> Invocation:
    settings = {"functionArn": f"arn:aws:lambda:{region}:123456789012:function:f"}
    return of_tenant(an_invocation(Target(kind="lambda", settings=settings), left_ms=left_ms), tenant_id)


async def left_behind(runner: AwsRunner, silence: Silence, calls: int, *, left_ms: int) -> None:
    """So many calls that were cancelled while the service had them."""
    running = [asyncio.create_task(runner.run(a_call(SILENT, left_ms=left_ms))) for _ in range(calls)]
    assert await silence.has_heard(calls)
    for one in running:
        one.cancel()
    assert await asyncio.gather(*running) == [GoesOn()] * calls


@pytest.mark.sem("SEM-TARGET-6", "SEM-TARGET-12")
async def test_a_tenants_calls_that_hang_do_not_delay_another_tenants() -> None:
    """It holds all that it may; its next call is given back at once, and the other's is made at once."""
    silence = Silence()
    with a_runner(silence, places=2) as runner:
        await left_behind(runner, silence, 4, left_ms=6_000)
        began = time.monotonic()  # noqa: TID251
        fifth = await runner.run(a_call(WELL, left_ms=60_000))
        others = [await runner.run(a_call(WELL, OTHER, left_ms=60_000)) for _ in range(4)]
        took_s = time.monotonic() - began  # noqa: TID251

    assert isinstance(fifth, NotRun)
    assert others == [Success(result="1")] * 4
    assert took_s < 3


@pytest.mark.sem("SEM-TARGET-12")
async def test_a_call_that_was_left_gives_up_a_moment_after_its_attempt() -> None:
    """And so its thread is free again: the service is hung up on."""
    silence = Silence()
    with a_runner(silence, places=1) as runner:
        await left_behind(runner, silence, 2, left_ms=1_500)
        assert await silence.is_left(2)


@pytest.mark.sem("SEM-TARGET-12")
async def test_an_attempt_whose_service_is_silent_times_out_and_its_call_soon_after() -> None:
    """It says that its time is over, and not that a client gave up."""
    silence = Silence()
    with a_runner(silence, places=1) as runner:
        result = await runner.run(a_call(SILENT, left_ms=1_500))
        assert await silence.is_left(1)

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT
