"""Runs an attempt as one call of an AWS service: the target kinds lambda, sqs, eventbridge, stepFunctions, ecsTask.

Must not know a service: what it is sent, and what its answer means, stand in a module of its own. A call that is cut
off goes on in its thread, until its attempt's time is over. Promises: SEM-TARGET-5, SEM-TARGET-6, SEM-TARGET-12.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tickwright.adapters.aws.faults import CALL_ERRORS
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.targets.aws_faults import Faults, not_run, result_of_fault
from tickwright.adapters.targets.envelope import may_hand_over
from tickwright.adapters.targets.results import timed_out
from tickwright.adapters.targets.threads import CallThreads
from tickwright.domain.allowed_targets import AllowedTargets, resources_of
from tickwright.domain.attempts import Fatal, HandedOver, Success, UserResult, an_error
from tickwright.domain.jobs import Target
from tickwright.ports.clock import Clock
from tickwright.ports.runner import GoesOn, Invocation

Answer = Mapping[str, Any]
# An operation by its snake_case name, and its request.
Call = Callable[[str, Mapping[str, Any]], Answer]
# A function runs for 900 s at most, and nothing else takes as long to answer.
_ANSWERS_S_MAX: Final = 960.0
# A call outlasts its attempt by so much: that the time is over is said by whoever waits for it.
_OUTLASTS_S: Final = 1.0
_REGION_OF_ARN: Final = 3


class Client(Protocol):
    """Of a service in a region; safe to use from any thread."""

    def call(self, operation: str, request: Mapping[str, Any], *, answers_s: float) -> Answer:
        """Call an operation, and wait for so long for an answer."""
        ...

    def close(self) -> None:
        """Let the connections go."""
        ...


# Of a service, by the SDK's name, in a region.
MakeClient = Callable[[str, str], Client]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service as a target: `send` makes the call, in a thread, and reads its answer."""

    name: str  # as the SDK has it
    faults: Faults
    send: Callable[[Call, Invocation], UserResult]


class AwsRunner:
    """A target kind that is one call of a service."""

    def __init__(
        self,
        service: Service,
        *,
        make_client: MakeClient,
        allowed: AllowedTargets,
        clock: Clock | None = None,
        places: int,
    ) -> None:
        """For so many attempts at a time; `allowed` is asked again, since it may be shorter than it was."""
        self._service = service
        self._clients = _Clients(service.name, make_client)
        self._allowed = allowed
        self._clock = clock or SystemClock()
        self._threads = CallThreads(places, f"{service.name}-target")

    async def run(self, invocation: Invocation) -> UserResult | GoesOn:
        """Call once, within the attempt's time."""
        tenant_id, target = invocation.definition.tenant_id, invocation.definition.spec.target
        if refused := self._allowed.problems(tenant_id, target):
            return Fatal(error=an_error("TargetNotAllowed", refused[0].message))
        left_s = self._left_s(invocation)
        if left_s <= 0:
            return timed_out()
        begun = self._threads.begin(tenant_id, lambda: self._result(target, invocation))
        if begun is None:
            return not_run(invocation)
        try:
            async with asyncio.timeout(left_s):
                return await asyncio.wrap_future(begun)
        except TimeoutError:  # no thread has come to it, and nothing was sent; or it did not answer
            return not_run(invocation) if begun.cancel() else timed_out()
        except asyncio.CancelledError:
            if begun.cancel():
                raise  # nothing was sent, and nothing is any more
            return GoesOn()

    def _left_s(self, invocation: Invocation) -> float:
        return (invocation.deadline_at - self._clock.now()) / 1_000

    def _result(self, target: Target, invocation: Invocation) -> UserResult:
        """In a thread: what became of the call."""
        region = next(iter(resources_of(target).values())).split(":")[_REGION_OF_ARN]
        client = self._clients.of(region)

        def call(operation: str, request: Mapping[str, Any]) -> Answer:
            answers_s = max(0.0, self._left_s(invocation)) + _OUTLASTS_S
            return client.call(operation, request, answers_s=min(answers_s, _ANSWERS_S_MAX))

        try:
            return self._service.send(call, invocation)
        except CALL_ERRORS as error:
            return result_of_fault(error, self._service.faults, invocation)

    def close(self) -> None:
        """Let the threads go, and the connections of those that have ended."""
        self._threads.close()
        self._clients.close()


class _Clients:
    """The clients of one service, one a region, made when first needed."""

    def __init__(self, service: str, make_client: MakeClient) -> None:
        self._service = service
        self._make = make_client
        self._made: dict[str, Client] = {}
        self._guard = threading.Lock()

    def of(self, region: str) -> Client:
        with self._guard:
            made = self._made.get(region)
            if made is None:
                made = self._made[region] = self._make(self._service, region)
            return made

    def close(self) -> None:
        with self._guard:
            for made in self._made.values():
                made.close()


def taken(invocation: Invocation, told: Mapping[str, str]) -> UserResult:
    """The service has taken it: that is a success, unless who got it is to say how it ends."""
    return HandedOver() if may_hand_over(invocation) else Success(result=json.dumps(told, separators=(",", ":")))


def once_key(invocation: Invocation) -> str:
    """Under which name the service may know it already: then a try whose answer was lost did it, and it is not redone.

    Where the attempt must complete it, each has its own, since an earlier one's epoch counts no more.
    """
    execution = invocation.execution
    suffix = f"e{invocation.epoch}" if may_hand_over(invocation) else f"g{execution.generation}"
    return f"{execution.ref.id}.{suffix}"
