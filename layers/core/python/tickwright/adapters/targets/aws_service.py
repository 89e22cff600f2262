"""Runs an attempt as one call of an AWS service: the target kinds lambda, sqs, eventbridge, stepFunctions, ecsTask.

Must not know a service: what it is sent, and what its answer means, stand in a module of its own. A call that is cut
off goes on in its thread, until the client gives up. Promises: SEM-TARGET-5, SEM-TARGET-6.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from tickwright.adapters.aws.faults import CALL_ERRORS
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.targets.aws_faults import Faults, not_run, result_of_fault
from tickwright.adapters.targets.envelope import may_hand_over
from tickwright.adapters.targets.results import timed_out
from tickwright.adapters.targets.turns import Turn
from tickwright.domain.allowed_targets import AllowedTargets, resources_of
from tickwright.domain.attempts import Fatal, HandedOver, Success, UserResult, an_error
from tickwright.domain.jobs import Target
from tickwright.ports.clock import Clock
from tickwright.ports.runner import GoesOn, Invocation

Answer = Mapping[str, Any]
# An operation by its snake_case name, and its request.
Call = Callable[[str, Mapping[str, Any]], Answer]
# A client of a service in a region that waits for an answer for so many seconds.
MakeClient = Callable[[str, str, float], Any]
# A client's patience is part of it: an attempt takes the one that just outlasts it, so that no thread waits for hours.
_PATIENCE_S: Final = (20.0, 90.0, 330.0, 960.0, 1_860.0)
_REGION_OF_ARN: Final = 3


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
        threads: int = 32,
    ) -> None:
        """One thread for each attempt at a time; `allowed` is asked again, since it may be shorter than it was."""
        self._service = service
        self._clients = _Clients(service.name, make_client)
        self._allowed = allowed
        self._clock = clock or SystemClock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"{service.name}-target")

    async def run(self, invocation: Invocation) -> UserResult | GoesOn:
        """Call once, within the attempt's time."""
        target = invocation.definition.spec.target
        if refused := self._allowed.problems(invocation.definition.tenant_id, target):
            return Fatal(error=an_error("TargetNotAllowed", refused[0].message))
        left_s = (invocation.deadline_at - self._clock.now()) / 1_000
        if left_s <= 0:
            return timed_out()
        loop, turn = asyncio.get_running_loop(), Turn()

        def work() -> UserResult:
            return self._result(target, left_s, invocation) if turn.take() else timed_out()

        try:
            async with asyncio.timeout(left_s):
                return await loop.run_in_executor(self._threads, work)
        except TimeoutError:  # all threads were busy, and nothing was sent; or it did not answer
            return not_run(invocation) if turn.take() else timed_out()
        except asyncio.CancelledError:
            if turn.take():
                raise  # nothing was sent, and nothing is any more
            return GoesOn()

    def _result(self, target: Target, left_s: float, invocation: Invocation) -> UserResult:
        """In a thread: what became of the call."""
        region = next(iter(resources_of(target).values())).split(":")[_REGION_OF_ARN]

        def call(operation: str, request: Mapping[str, Any]) -> Answer:
            method: Callable[..., Answer] = getattr(self._clients.of(region, left_s), operation)
            return method(**request)

        try:
            return self._service.send(call, invocation)
        except CALL_ERRORS as error:
            return result_of_fault(error, self._service.faults, invocation)

    def close(self) -> None:
        """Let the threads go, and the connections of those that have ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._clients.close()


class _Clients:
    """The clients of one service, made when first needed: one a region and patience."""

    def __init__(self, service: str, make_client: MakeClient) -> None:
        self._service = service
        self._make = make_client
        self._made: dict[tuple[str, float], Any] = {}
        self._guard = threading.Lock()

    def of(self, region: str, left_s: float) -> Any:  # noqa: ANN401 - its methods are made at run time
        """The one that outlasts the time that is left, or the most patient."""
        patience_s = next((s for s in _PATIENCE_S if s >= left_s), _PATIENCE_S[-1])
        with self._guard:
            made = self._made.get((region, patience_s))
            if made is None:
                made = self._made[region, patience_s] = self._make(self._service, region, patience_s)
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
