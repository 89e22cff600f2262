"""A store whose process dies or freezes at a planned write.

Right before it, or right after its commit and before its answer is used. It also notes each answer that took long,
since a process that waits for the store cannot keep its leases. Must not change what is written. Everything else is
the store's own.
"""

import inspect
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.timetable import Aim, AtWrite, Blow, Fault
from tickwright.domain.changes import executions, heads
from tickwright.domain.journal import Page
from tickwright.domain.leases import RenewBucket, TakeBucket
from tickwright.ports.store import AnyChange, Outcome, Store

_AIMED = {
    heads.Advance: Aim.ADVANCE,
    executions.Insert: Aim.INSERT,
    executions.Claim: Aim.CLAIM,
    executions.Heartbeat: Aim.HEARTBEAT,
    executions.Succeed: Aim.RESULT,
    executions.Fail: Aim.RESULT,
}
_SLOW_NS = 500_000_000
_SIGNALS = {Blow.KILL: signal.SIGKILL, Blow.FREEZE: signal.SIGSTOP}


@dataclass(slots=True)
class Fate:
    """The blows that are placed on writes, and which writes have been seen."""

    faults: list[Fault]
    over_at_ms: int  # no blow after this instant
    seen: Counter[Aim] = field(default_factory=Counter)

    def meet(self, aims: set[Aim], *, before: bool) -> None:
        """Count before the write; strike at the moment that the plan names."""
        if before:
            self.seen.update(aims)
        for fault in list(self.faults):
            trigger = fault.trigger
            assert isinstance(trigger, AtWrite)
            if trigger.aim in aims and trigger.before is before and self.seen[trigger.aim] >= trigger.nth:
                self.faults.remove(fault)
                if time.time_ns() // 1_000_000 < self.over_at_ms:
                    os.kill(os.getpid(), _SIGNALS[fault.blow])


class BrittleStore:
    """Wraps a store; reads go through as they are."""

    def __init__(self, store: Store, fate: Fate, note_stall: Callable[[int], None], *, notes_reads: bool) -> None:
        """`note_stall` is told how many nanoseconds a slow write took.

        And a slow read, where it matters: a scheduler works through its buckets by reading, a worker's leases are kept
        by writes alone.
        """
        self._store = store
        self._fate = fate
        self._note_stall = note_stall
        self._notes_reads = notes_reads

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the store's own methods
        """All that is not written here."""
        found = getattr(self._store, name)
        if not self._notes_reads or not inspect.iscoroutinefunction(found):
            return found
        return lambda *given, **named: self._timed(lambda: found(*given, **named))

    async def write(self, change: AnyChange) -> Outcome[Any]:
        """One write."""
        answer: Outcome[Any] = await self._struck(_aims_of([change]), lambda: self._store.write(change))
        return answer

    async def write_each(self, changes: Sequence[AnyChange]) -> Sequence[Any]:
        """A batch is one moment."""
        answers: Sequence[Any] = await self._struck(_aims_of(changes), lambda: self._store.write_each(changes))
        return answers

    async def write_together(self, changes: Sequence[AnyChange]) -> Sequence[Any]:
        """A transaction is one moment."""
        answers: Sequence[Any] = await self._struck(_aims_of(changes), lambda: self._store.write_together(changes))
        return answers

    async def put_page(self, page: Page) -> None:
        """J."""
        await self._struck({Aim.PAGE, Aim.ANY}, lambda: self._store.put_page(page))

    async def _struck(self, aims: set[Aim], write: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the write answers
        self._fate.meet(aims, before=True)
        try:
            return await self._timed(write)
        finally:
            self._fate.meet(aims, before=False)

    async def _timed(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the call answers
        began_ns = time.monotonic_ns()
        try:
            return await call()
        finally:
            if (took_ns := time.monotonic_ns() - began_ns) > _SLOW_NS:
                self._note_stall(took_ns)


def _aims_of(changes: Sequence[AnyChange]) -> set[Aim]:
    """Leases are written all the time and count for nothing."""
    kinds = {type(change) for change in changes} - {TakeBucket, RenewBucket}
    return {_AIMED[kind] for kind in kinds if kind in _AIMED} | ({Aim.ANY} if kinds else set())
