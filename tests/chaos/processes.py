"""Starts the processes of a run, does to each what the timetable says, and starts it again under a fresh name.

A process that ends or freezes by the plan of its own store is found by looking at it. Whatever happens, none is left behind.
Must not know what the processes do.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.child import Settings
from tests.chaos.timetable import AtTime, AtWrite, Blow, Fault, Life, Role, Timetable

_LOOK_S = 0.02
_TERM_PATIENCE_S = 6.0
_SPAN_GAP_MS = 200
_ROOT = Path(__file__).parents[2]
_PLANNED_ENDS = {0, -signal.SIGKILL, -signal.SIGTERM}


@dataclass(slots=True, kw_only=True)
class Member:
    """One place of the company: its present life."""

    role: Role
    name: str
    slot: int
    number: int = 0
    life: Life | None = None
    popen: "subprocess.Popen[bytes] | None" = None
    ready: Path | None = None  # exists once the process is at work
    ready_at_s: float | None = None
    timed: list[Fault] = field(default_factory=list)
    thaws_at_s: float | None = None
    freezes_ms: list[int] = field(default_factory=list)
    rests_until_s: float = 0.0
    asked_at_s: float | None = None


@dataclass(slots=True, kw_only=True)
class Company:
    """All processes of one run."""

    timetable: Timetable
    folder: Path
    plant: str
    start_ms: int
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    attended: list[tuple[int, int]] = field(default_factory=list)  # when a scheduler was at work
    members: list[Member] = field(default_factory=list)
    _outages: list[tuple[int, Role, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Two schedulers, three workers."""
        self.members = [Member(role=Role.SCHEDULER, name=f"s{slot}", slot=slot) for slot in range(2)]
        self.members += [Member(role=Role.WORKER, name=f"w{slot}", slot=slot) for slot in range(3)]
        self._outages = [(outage.at_ms, outage.role, outage.for_ms) for outage in self.timetable.outages()]

    async def play(self, until: asyncio.Event) -> None:
        """Follow the timetable, and keep all alive after it is over, until told to end; then end all."""
        try:
            while not until.is_set():
                for member in self.members:
                    self._look(member)
                self._strike_together()
                self._note_attendance()
                await asyncio.sleep(_LOOK_S)
            await self._dismiss()
        finally:
            self.end()

    # --- one look ------------------------------------------------------------------------------------------------
    def _look(self, member: Member) -> None:
        now_s = time.monotonic()
        if member.popen is None:
            if now_s >= member.rests_until_s:
                self._start(member)
            return
        if (status := member.popen.poll()) is not None:
            self._ended(member, status, now_s)
            return
        if member.ready_at_s is None and member.ready is not None and member.ready.exists():
            member.ready_at_s = now_s
        self._freezing(member, now_s)
        self._strike(member, now_s)

    def _start(self, member: Member) -> None:
        member.number += 1
        quiet = self.is_quiet
        life = self.timetable.life(member.role, member.name, member.number)
        member.life, member.ready_at_s, member.asked_at_s, member.thaws_at_s = life, None, None, None
        faults = () if quiet else life.faults
        member.timed = [fault for fault in faults if isinstance(fault.trigger, AtTime)]
        member.freezes_ms = [fault.for_ms for fault in faults if fault.blow is Blow.FREEZE]
        settings = Settings(
            role=member.role,
            member=f"{member.name}.{member.number}",
            slot=member.slot,
            slots=sum(other.role is member.role for other in self.members),
            folder=self.folder,
            faults=tuple(fault for fault in faults if isinstance(fault.trigger, AtWrite)),
            quiet_at_ms=self.start_ms + self.timetable.quiet_ms,
            plant=self.plant,
        )
        member.ready = settings.ready
        member.popen = self._spawn(settings)
        self.counts["starts"] += 1

    def _spawn(self, settings: Settings) -> "subprocess.Popen[bytes]":
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "layers/core/python")])}
        with (self.folder / f"{settings.member}.stderr").open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.child", settings.dump()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=_ROOT,
                env={**environ, "PYTHONTZPATH": ""},
            )

    def _ended(self, member: Member, status: int, now_s: float) -> None:
        """By a blow, by request, or unasked: the last is a bug of somebody."""
        assert member.life is not None
        assert member.popen is not None
        if member.popen.stdin is not None:
            member.popen.stdin.close()
        killed = status == -signal.SIGKILL
        self.counts["kills"] += killed
        if not (killed or (status in _PLANNED_ENDS and member.asked_at_s is not None)):
            errors = (self.folder / f"{member.name}.{member.number}.stderr").read_text()[-400:]
            self.broken.append(f"{member.name}.{member.number} ended by itself with {status}: {errors}")
        member.popen, member.ready_at_s = None, None
        member.rests_until_s = now_s + member.life.rest_ms / 1_000

    def _freezing(self, member: Member, now_s: float) -> None:
        """See whether it stands still, by whatever blow, and wake it when its time has come."""
        assert member.popen is not None
        found = os.waitid(os.P_PID, member.popen.pid, os.WSTOPPED | os.WNOHANG)
        if found is not None and member.thaws_at_s is None:
            for_ms = member.freezes_ms.pop(0) if member.freezes_ms else 0
            member.thaws_at_s = now_s + for_ms / 1_000
            self.counts["freezes"] += 1
        if member.thaws_at_s is not None and (now_s >= member.thaws_at_s or self.is_quiet):
            member.popen.send_signal(signal.SIGCONT)
            member.thaws_at_s = None

    def _strike(self, member: Member, now_s: float) -> None:
        """The blows that come at a time; a frozen one is struck when it wakes."""
        if self.is_quiet or member.thaws_at_s is not None or member.ready_at_s is None:
            return
        assert member.popen is not None
        lived_ms = (now_s - member.ready_at_s) * 1_000
        for fault in list(member.timed):
            assert isinstance(fault.trigger, AtTime)
            if lived_ms >= fault.trigger.after_ms:
                member.timed.remove(fault)
                self._blow(member, fault.blow, now_s)
                return
        if member.asked_at_s is not None and now_s - member.asked_at_s > _TERM_PATIENCE_S:
            self.broken.append(f"{member.name}.{member.number} did not end {_TERM_PATIENCE_S} s after SIGTERM")
            member.popen.kill()

    def _blow(self, member: Member, blow: Blow, now_s: float) -> None:
        assert member.popen is not None
        match blow:
            case Blow.KILL:
                member.popen.kill()
            case Blow.FREEZE:
                member.popen.send_signal(signal.SIGSTOP)
            case Blow.TERM:
                member.popen.terminate()
                member.asked_at_s = now_s
                self.counts["terms"] += 1

    def _strike_together(self) -> None:
        since_ms = self._since_ms()
        for outage in [outage for outage in self._outages if since_ms >= outage[0]]:
            self._outages.remove(outage)
            for member in self.members:
                if member.role is outage[1] and member.popen is not None and member.thaws_at_s is None:
                    member.freezes_ms.insert(0, outage[2])
                    member.popen.send_signal(signal.SIGSTOP)
            self.counts["outages"] += 1

    def _note_attendance(self) -> None:
        """Lengthen the last span, or begin one."""
        at_work = any(
            member.role is Role.SCHEDULER and member.popen is not None and member.thaws_at_s is None
            for member in self.members
            if member.ready_at_s is not None
        )
        now_ms = time.time_ns() // 1_000_000
        if at_work and self.attended and now_ms - self.attended[-1][1] < _SPAN_GAP_MS:
            self.attended[-1] = (self.attended[-1][0], now_ms)
        elif at_work:
            self.attended.append((now_ms, now_ms))

    @property
    def is_quiet(self) -> bool:
        """Whether the faults are over."""
        return self._since_ms() >= self.timetable.quiet_ms

    def _since_ms(self) -> int:
        return time.time_ns() // 1_000_000 - self.start_ms

    # --- the end -------------------------------------------------------------------------------------------------
    async def _dismiss(self) -> None:
        """Ask all to end, so that what they still do is written down."""
        alive = [member.popen for member in self.members if member.popen is not None]
        for popen in alive:
            popen.send_signal(signal.SIGCONT)
            popen.terminate()
        give_up_at_s = time.monotonic() + _TERM_PATIENCE_S
        while any(popen.poll() is None for popen in alive) and time.monotonic() < give_up_at_s:
            await asyncio.sleep(_LOOK_S)
        if any(popen.poll() is None for popen in alive):
            self.broken.append("a process did not end after SIGTERM when all was done")

    def end(self) -> None:
        """Kill whatever is left."""
        for member in self.members:
            if member.popen is not None:
                with suppress(ProcessLookupError):
                    member.popen.kill()
                member.popen.wait()
                if member.popen.stdin is not None:
                    member.popen.stdin.close()
