"""User code in a simulated worker: it does as its payload says, and its own notes are the evidence.

Must not know the store. A process that dies takes its code with it; one that stands still goes on later, a zombie.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.history import Attempt
from tests.sim.elsewhere import Elsewhere
from tests.sim.process import Process
from tickwright.domain.attempts import Failure, Fatal, HandedOver, RetryLater, Success, UserResult, a_note, an_error
from tickwright.domain.executions import Execution
from tickwright.domain.transitions import State
from tickwright.ports.clock import Clock
from tickwright.ports.runner import Invocation

_LATER_S = 0.3
_NS = 1_000_000


@dataclass(slots=True)
class Diary:
    """What user code wrote down: a line at the start of an attempt, a line at its end."""

    begun: dict[tuple[str, int, str], dict[str, Any]] = field(default_factory=dict)
    ended: dict[tuple[str, int, str], dict[str, Any]] = field(default_factory=dict)
    lines: int = 0
    code: set["asyncio.Task[UserResult]"] = field(default_factory=set)  # kept alive: deaf code belongs to nobody
    # Which attempts were handed over, by execution and epoch, and whether the store has heard of it.
    handed: dict[tuple[str, int], bool] = field(default_factory=dict)

    def hears(self, row: Execution) -> None:
        """The store says that a lease reaches to the time limit."""
        limits = {row.deadline_at, row.run_deadline_at}
        if row.state is State.RUNNING and row.lease_until in limits and (row.ref.id, row.lease_epoch) in self.handed:
            self.handed[row.ref.id, row.lease_epoch] = True

    def attempts(self) -> list[Attempt]:
        """All attempts, in the order of their starts."""
        found = [
            Attempt(**start, **self.ended.get(name, {}), handed_over=self.handed.get(name[:2]))
            for name, start in self.begun.items()
        ]
        return sorted(found, key=lambda attempt: attempt.started_ns)


@dataclass(slots=True)
class SimRunner:
    """Runs the python targets of one worker."""

    process: Process
    diary: Diary
    now_ms: Callable[[], int]  # true time, which orders the evidence
    clock: Clock  # this machine's
    elsewhere: Elsewhere | None = None  # who goes on with what is handed over

    async def run(self, invocation: Invocation) -> UserResult:
        """One attempt, to be cancelled where it waits, or deaf to that."""
        does = json.loads(invocation.definition.spec.payload)
        deaf = invocation.definition.spec.target.settings["handler"] == "deaf"
        name = self._start(invocation, does)
        code = asyncio.create_task(self._code(invocation, does, name))
        self.diary.code.add(code)
        try:
            return await (asyncio.shield(code) if deaf else code)
        except asyncio.CancelledError:
            if not deaf and name not in self.diary.ended:
                self._end(name, "cut")
            raise

    async def _code(self, invocation: Invocation, does: dict[str, Any], name: tuple[str, int, str]) -> UserResult:
        if "overMs" in does:
            return await self._hand_over(invocation, does, name)
        first = invocation.execution.attempt == 1
        await asyncio.sleep((does.get("firstMs", does["ms"]) if first else does["ms"]) / 1_000)
        await self.process.gate()
        return self._conclude(invocation, does, name)

    async def _hand_over(self, invocation: Invocation, does: dict[str, Any], name: tuple[str, int, str]) -> UserResult:
        """Note what for, and be done with it; who goes on may be quicker than our saying so."""
        assert self.elsewhere is not None
        await invocation.beat(a_note(0.5, f"{invocation.epoch}"))
        await asyncio.sleep(does["overMs"] / 1_000)
        await self.process.gate()
        self.diary.handed[name[:2]] = False
        self.elsewhere.go_on(invocation, does, lambda: self._conclude(invocation, does, name))
        return HandedOver()

    def _conclude(self, invocation: Invocation, does: dict[str, Any], name: tuple[str, int, str]) -> UserResult:
        if does.get("ends") == "fatal":
            self._end(name, "fatal")
            return Fatal(error=an_error("Fatal", "The job was made to die."))
        if invocation.epoch < does.get("laterUntil", 0):
            self._end(name, "later")
            return RetryLater(after_s=_LATER_S)
        if invocation.execution.attempt < does.get("failsUntil", 0):
            self._end(name, "failure")
            return Failure(error=an_error("MadeToFail", "The attempt was made to fail."))
        self.diary.lines += 1
        mark = f"{self.diary.lines}"
        self._end(name, "success", mark)
        return Success(result=json.dumps({"leaseEpoch": invocation.epoch, "mark": mark}))

    def _start(self, invocation: Invocation, does: dict[str, Any]) -> tuple[str, int, str]:
        execution, member = invocation.execution, self.process.member
        name = (execution.ref.id, invocation.epoch, member)
        self.diary.lines += 1
        self.diary.begun[name] = {
            "ref": execution.ref,
            "epoch": invocation.epoch,
            "attempt": execution.attempt,
            "member": member,
            "version": does["version"],
            "scheduled_ms": execution.scheduled_at,
            "claimed_ms": self._claimed_ms(invocation, does),
            "deadline_ms": invocation.deadline_at,
            "started_ms": self.clock.now(),
            "started_ns": self.now_ms() * _NS + self.diary.lines,
        }
        return name

    @staticmethod
    def _claimed_ms(invocation: Invocation, does: dict[str, Any]) -> int:
        """When its time limit began, by the clock of whoever claimed it: that may have been set since."""
        assert invocation.execution.deadline_at is not None
        return int(invocation.execution.deadline_at - does["timeoutMs"])

    def _end(self, name: tuple[str, int, str], outcome: str, mark: str | None = None) -> None:
        self.diary.lines += 1
        now = self.now_ms()
        ended = {
            "ended_ms": self.clock.now(),
            "ended_ns": now * _NS + self.diary.lines,
            "outcome": outcome,
            "mark": mark,
        }
        self.diary.ended[name] = ended
