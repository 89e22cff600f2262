"""Is a service called once, in the right region, within the attempt's time, and only for what a tenant may name?"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support.builders import TENANT, an_id
from tests.unit.targets.invocations import an_invocation
from tickwright.adapters.targets.aws_service import AwsRunner
from tickwright.adapters.targets.ecs_task import ECS
from tickwright.adapters.targets.sqs import SQS
from tickwright.adapters.targets.step_functions import name_of
from tickwright.domain.allowed_targets import AllowedTargets
from tickwright.domain.attempts import Failure, Fatal, HandedOver, NotRun, Success
from tickwright.domain.executions import Reason
from tickwright.domain.ids import Epoch, ExecutionRef, JobId, manual_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Target
from tickwright.ports.runner import GoesOn, Invocation

QUEUE = "arn:aws:sqs:eu-west-1:123456789012:orders"
ALL = AllowedTargets(patterns={TENANT: ("arn:*",)})


@dataclass
class Aws:
    """Every client of a service, in one: what was made, and what was asked."""

    made: list[tuple[str, str]] = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    waited_s: list[float] = field(default_factory=list)
    waits_for: threading.Event | None = None
    closed: int = 0

    def client(self, service: str, region: str) -> "Aws":
        """One more client."""
        self.made.append((service, region))
        return self

    def call(self, operation: str, request: Mapping[str, Any], *, answers_s: float) -> Mapping[str, Any]:
        """SQS's."""
        assert operation == "send_message"
        self.asked.append(request)
        self.waited_s.append(answers_s)
        if self.waits_for is not None:
            self.waits_for.wait(10)
        return {"MessageId": "m-1"}

    def close(self) -> None:
        """Let go."""
        self.closed += 1


@contextmanager
def a_runner(aws: Aws, *, allowed: AllowedTargets = ALL) -> Iterator[AwsRunner]:
    runner = AwsRunner(SQS, make_client=aws.client, allowed=allowed, places=1)
    try:
        yield runner
    finally:
        runner.close()


def to_queue(arn: str = QUEUE, *, left_ms: int = 5_000, **settings: object) -> Invocation:
    return an_invocation(Target(kind="sqs", settings={"queueArn": arn, **settings}), left_ms=left_ms)


@pytest.mark.sem("SEM-TARGET-5")
async def test_what_is_no_longer_allowed_is_not_called() -> None:
    """It was when the job was taken."""
    aws = Aws()
    with a_runner(aws, allowed=AllowedTargets(patterns={"another": ("arn:*",)})) as runner:
        result = await runner.run(to_queue())

    assert isinstance(result, Fatal)
    assert result.error.error_class == "TargetNotAllowed"
    assert (aws.made, aws.asked) == ([], [])


async def test_the_region_is_the_targets() -> None:
    """A client is made when it is first needed, and kept."""
    aws = Aws()
    other = QUEUE.replace("eu-west-1", "us-east-1")
    with a_runner(aws) as runner:
        for invocation in (to_queue(), to_queue(), to_queue(other)):
            assert isinstance(await runner.run(invocation), Success)

    assert aws.made == [("sqs", "eu-west-1"), ("sqs", "us-east-1")]
    assert [request["QueueUrl"] for request in aws.asked][1:] == [
        "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
        "https://sqs.us-east-1.amazonaws.com/123456789012/orders",
    ]
    assert aws.closed == 2


@pytest.mark.sem("SEM-TARGET-12")
@pytest.mark.parametrize(("left_ms", "at_most_s"), [(60_000, 61), (43_200_000, 960)], ids=["a minute", "half a day"])
async def test_a_call_waits_for_as_long_as_its_attempt_may_take(left_ms: int, at_most_s: float) -> None:
    """And a moment more, so that its attempt is over first; never longer than any service takes."""
    aws = Aws()
    with a_runner(aws) as runner:
        await runner.run(to_queue(left_ms=left_ms))

    assert at_most_s - 1 < aws.waited_s[0] <= at_most_s


async def test_an_attempt_ends_at_its_limit_though_the_service_does_not_answer() -> None:
    """What was asked for may have been done: it counts."""
    aws = Aws(waits_for=threading.Event())
    assert aws.waits_for is not None
    with a_runner(aws) as runner:
        result = await runner.run(to_queue(left_ms=100))
        aws.waits_for.set()

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT


@pytest.mark.sem("SEM-TARGET-6", "SEM-TARGET-12")
async def test_a_call_that_finds_no_thread_is_not_run() -> None:
    """Nothing was sent: no attempt is counted, and nothing is sent later either."""
    aws = Aws(waits_for=threading.Event())
    assert aws.waits_for is not None
    with a_runner(aws) as runner:
        busy = [asyncio.create_task(runner.run(to_queue(left_ms=60_000))) for _ in range(2)]
        while len(aws.asked) < 2:
            await asyncio.wait(busy, timeout=0.01)
        result = await runner.run(to_queue(left_ms=60_000))
        aws.waits_for.set()
        await asyncio.gather(*busy)

    assert isinstance(result, NotRun)
    assert result.after_s >= 10
    assert len(aws.asked) == 2


async def test_no_time_left_means_no_call() -> None:
    """An attempt that starts after its own limit touches nobody."""
    aws = Aws()
    with a_runner(aws) as runner:
        result = await runner.run(to_queue(left_ms=0))

    assert isinstance(result, Failure)
    assert aws.asked == []


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_cancelled_attempt_leaves_its_call_behind() -> None:
    """The loop goes on at once and knows that the service may; the thread when the client gives up."""
    aws = Aws(waits_for=threading.Event())
    assert aws.waits_for is not None
    with a_runner(aws) as runner:
        running = asyncio.create_task(runner.run(to_queue(left_ms=60_000)))
        while not aws.asked:
            await asyncio.wait({running}, timeout=0.01)
        running.cancel()
        assert await running == GoesOn()
        aws.waits_for.set()


@pytest.mark.sem("SEM-TARGET-8")
async def test_a_fifo_queue_knows_all_tries_of_a_generation_by_one_key() -> None:
    """What must be completed is told anew, since an earlier try's epoch counts no more."""
    aws = Aws()
    first = to_queue(f"{QUEUE}.fifo")
    second = replace(first, epoch=Epoch(2))
    redriven = replace(first, epoch=Epoch(3), execution=replace(first.execution, generation=2))
    called_back = [replace(to_queue(f"{QUEUE}.fifo", completion="callback"), epoch=Epoch(epoch)) for epoch in (1, 2)]
    with a_runner(aws) as runner:
        results = [await runner.run(one) for one in (first, second, redriven, *called_back)]

    keys = [request["MessageDeduplicationId"] for request in aws.asked]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
    assert results[3:] == [HandedOver(), HandedOver()]


@pytest.mark.sem("SEM-TARGET-10")
@pytest.mark.parametrize("suffix", ["g1", "e999", "e1000000"])
def test_a_machines_execution_has_a_name_that_step_functions_takes(suffix: str) -> None:
    """80 characters at most, of those that a log group shows; different for different tries."""
    ref = ExecutionRef(JobId(an_id(1)), manual_key(Instant(1_796_083_200_000), an_id(2)))
    name = name_of(f"{ref.id}.{suffix}")

    assert len(name) <= 80
    assert all(sign.isalnum() or sign in "-_" for sign in name)
    assert name != name_of(f"{ref.id}.g2")


def test_the_longest_token_of_a_container_is_one_that_ecs_takes() -> None:
    """64 characters; whoever started it is named in under 128."""
    asked: list[Mapping[str, Any]] = []

    def call(_operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(request)
        return {"tasks": [{"taskArn": "arn:t"}], "failures": []}

    settings = {"clusterArn": "arn:c", "taskDefinitionArn": "arn:d", "containerName": "work"}
    ECS.send(call, an_invocation(Target(kind="ecsTask", settings=settings)))

    assert len(asked[0]["clientToken"]) == 64
    assert len(asked[0]["startedBy"]) <= 128
    assert "networkConfiguration" not in asked[0]
