"""The guard of a fleet's machine: keeps it from being taken away while it has runs.

A shell around domain/scale_in.py. It saves work and decides nothing about runs: without it a machine that is taken
away gives its runs back. Promise: SEM-FLEET-3.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tickwright.domain import scale_in
from tickwright.domain.events import EventName
from tickwright.domain.scale_in import Guard, Step
from tickwright.loops.waiting import sleep_or_stop
from tickwright.ports.protection import Protection
from tickwright.services.kit import Kit

_LOOK_MS = 1_000


@dataclass(slots=True)
class GuardLoop:
    """Looks each second whether there are runs. On stop it leaves things as they are: the machine is going anyway."""

    kit: Kit
    protection: Protection
    is_busy: Callable[[], bool]
    _guard: Guard = field(default_factory=Guard)

    async def run(self, stop: asyncio.Event) -> None:
        """Look until `stop` is set."""
        while not stop.is_set():
            await self.look()
            await sleep_or_stop(self.kit, stop, _LOOK_MS)

    async def look(self) -> None:
        """One look, and what it asks for."""
        self._guard = scale_in.seen(self._guard, is_busy=self.is_busy(), now_ms=self.kit.clock.monotonic_ms())
        step = scale_in.step_of(self._guard, self.kit.clock.monotonic_ms())
        if step is Step.NOTHING:
            return
        refused = await self._ask(step)
        now_ms = self.kit.clock.monotonic_ms()
        if refused is None:
            self._guard = scale_in.granted(self._guard, step, now_ms)
        else:
            self._guard = scale_in.failed(self._guard, now_ms)
            self.kit.emit(EventName.PROTECTION_REFUSED, step=step.value, reason=refused)

    async def _ask(self, step: Step) -> str | None:
        if step is Step.PROTECT:
            return await self.protection.protect(scale_in.PROTECTED_MIN)
        return await self.protection.let_go()
