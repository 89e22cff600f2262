"""Whoever goes on with a run that a target has handed over: outside the installation, known by its reports alone.

It outlives the worker, asks nobody, and reports by the run's id and epoch until it is heard or refused; or is never
heard of again. Must not know the store.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tickwright.domain.attempts import Failure, Fatal, RetryLater, Success, UserResult
from tickwright.ports.faults import Unavailable
from tickwright.ports.runner import Invocation
from tickwright.services.kit import Kit
from tickwright.services.report import report_failure, report_success

_AGAIN_S = 0.3
_TRIES = 100  # for half a minute: longer than any fault


@dataclass(slots=True)
class Elsewhere:
    """All of them; `open_kit` is the API's way to the store, opened when it is first needed."""

    open_kit: Callable[[], Kit]
    going: set["asyncio.Task[None]"] = field(default_factory=set)
    _kit: Kit | None = None

    def go_on(self, invocation: Invocation, does: dict[str, Any], concludes: Callable[[], UserResult]) -> None:
        """Do as the payload says, and report what came of it."""
        going = asyncio.create_task(self._go_on(invocation, does, concludes))
        self.going.add(going)
        going.add_done_callback(self.going.discard)

    async def _go_on(self, invocation: Invocation, does: dict[str, Any], concludes: Callable[[], UserResult]) -> None:
        if invocation.epoch <= does.get("silentUntil", 0):
            return
        await asyncio.sleep(does["ms"] / 1_000)
        result = concludes()
        for _ in range(_TRIES):
            try:
                await self._report(invocation, result)
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)
            else:
                return
        raise AssertionError("the API was down for longer than any fault lasts")

    async def _report(self, invocation: Invocation, result: UserResult) -> None:
        if self._kit is None:
            self._kit = self.open_kit()
        kit, run = self._kit, invocation.execution
        match result:
            case Success(result=text):
                await report_success(kit, run.tenant_id, run.ref.id, epoch=invocation.epoch, result=text)
            case Failure() | Fatal() | RetryLater():
                await report_failure(kit, run.tenant_id, run.ref.id, epoch=invocation.epoch, failed=result)
            case _:
                raise AssertionError(f"{result} ends nothing")
