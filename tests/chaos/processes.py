"""The company of processes: does to each what the timetable says, and starts it again under a fresh name.

It learns from the nursery who has started, frozen or ended, by whatever blow. Whatever happens, none is left behind.
Must not know what the processes do.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.child import BUSY, Settings
from tests.chaos.grounds import Ground
from tests.chaos.history import Presence, Stall
from tests.chaos.timetable import AtTime, AtWrite, Blow, Fault, Role, Timetable

_LOOK_S = 0.01
_SPAN_GAP_MS = 200
_HELD_MS_MAX = 1_500
_ROOT = Path(__file__).parents[2]


@dataclass(slots=True, kw_only=True)
class Member:
    """One place of the company, with its present life."""

    role: Role
    name: str
    slot: int
    number: int = 0
    settings: Settings | None = None  # of the present life
    timed: list[Fault] = field(default_factory=list)
    freezes_ms: list[int] = field(default_factory=list)
    rest_ms: int = 0
    ready_at_s: float | None = None
    frozen: bool = False
    frozen_ms: int = 0  # since when
    thaws_at_s: float = 0.0
    asked_at_s: float | None = None
    rests_until_s: float = 0.0

    @property
    def is_at_work(self) -> bool:
        """Up, and not frozen."""
        return self.ready_at_s is not None and not self.frozen


@dataclass(slots=True, kw_only=True)
class Company:
    """All processes of one run."""

    timetable: Timetable
    folder: Path
    plant: str
    start_ms: int
    ground: Ground
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)  # when which process was frozen
    presences: list[Presence] = field(default_factory=list)  # when which scheduler was at work
    _members: list[Member] = field(default_factory=list)
    _outages: list[tuple[int, Role, int]] = field(default_factory=list)
    _nursery: "asyncio.subprocess.Process | None" = None
    _dismissed: bool = False

    def __post_init__(self) -> None:
        """Two schedulers, three workers."""
        self._members = [Member(role=Role.SCHEDULER, name=f"s{slot}", slot=slot) for slot in range(2)]
        self._members += [Member(role=Role.WORKER, name=f"w{slot}", slot=slot) for slot in range(3)]
        self._outages = [(outage.at_ms, outage.role, outage.for_ms) for outage in self.timetable.outages()]

    async def play(self, until: asyncio.Event) -> None:
        """Follow the timetable, and keep all alive after it is over, until told to end; then end all."""
        self._nursery = await _start_nursery(self.folder)
        hearing = asyncio.create_task(self._hear(self._nursery))
        try:
            while not until.is_set():
                self._look(time.monotonic())
                await asyncio.sleep(_LOOK_S)
            await self._dismiss()
        finally:
            hearing.cancel()
            self._nursery.stdin.close()  # type: ignore[union-attr]  # it was opened as a pipe
            await self._nursery.wait()

    # --- what the nursery says -----------------------------------------------------------------------------------
    async def _hear(self, nursery: "asyncio.subprocess.Process") -> None:
        assert nursery.stdout is not None
        async for line in nursery.stdout:
            said = json.loads(line)
            member = self._named(said["member"])
            match said["what"]:
                case "frozen":
                    self._frozen(member, time.monotonic())
                case "thawed":
                    self._thawed(member)
                case "ended":
                    self._ended(member, said["status"], time.monotonic())
                case _:
                    self.counts["starts"] += 1

    def _named(self, name: str) -> Member:
        return next(
            member for member in self._members if member.settings is not None and member.settings.member == name
        )

    def _frozen(self, member: Member, now_s: float) -> None:
        for_ms = member.freezes_ms.pop(0) if member.freezes_ms else 0
        member.frozen, member.frozen_ms, member.thaws_at_s = True, _now_ms(), now_s + for_ms / 1_000
        self.counts["freezes"] += 1

    def _thawed(self, member: Member) -> None:
        """Noted here too: a process that is killed as it wakes cannot say that it stood still."""
        if member.frozen and member.settings is not None:
            name = member.settings.member
            self.stalls.append(Stall(member=name, from_ms=member.frozen_ms, until_ms=_now_ms()))
            if member.asked_at_s is not None:
                member.asked_at_s = time.monotonic()  # a frozen process hears no request to end
        member.frozen = False

    def _ended(self, member: Member, status: int, now_s: float) -> None:
        """By a blow, by request, or unasked: the last is a bug of somebody."""
        assert member.settings is not None
        self._thawed(member)
        killed, asked = status == -signal.SIGKILL, member.asked_at_s is not None or self._dismissed
        self.counts["kills"] += killed
        self.counts["busyStarts"] += status == BUSY
        if not killed and status != BUSY and not (asked and status in {0, -signal.SIGTERM}):
            errors = (self.folder / f"{member.settings.member}.stderr").read_text()[-600:]
            self.broken.append(f"{member.settings.member} ended by itself with {status}: {errors}")
        member.settings, member.ready_at_s, member.frozen = None, None, False
        member.rests_until_s = now_s + member.rest_ms / 1_000

    # --- one look ------------------------------------------------------------------------------------------------
    def _look(self, now_s: float) -> None:
        for member in self._members:
            if member.settings is None:
                if now_s >= member.rests_until_s:
                    self._start(member)
                continue
            if member.ready_at_s is None and member.settings.ready.exists():
                member.ready_at_s = now_s
            held = (
                self.ground.watch.busy_ms > _HELD_MS_MAX
            )  # it may hold the file: waiting shows nothing that is not seen by now
            if member.frozen and (now_s >= member.thaws_at_s or self.is_quiet or held):
                self._send(member, signal.SIGCONT)
                member.thaws_at_s = now_s + 1  # should the first not have arrived
            elif member.is_at_work and not self.is_quiet:
                self._strike(member, now_s)
            self._note_presence(member)
        self._strike_together()

    def _start(self, member: Member) -> None:
        member.number += 1
        life = self.timetable.life(member.role, member.name, member.number)
        faults = () if self.is_quiet else life.faults
        member.timed = [fault for fault in faults if isinstance(fault.trigger, AtTime)]
        member.freezes_ms = [fault.for_ms for fault in faults if fault.blow is Blow.FREEZE]
        member.rest_ms, member.asked_at_s, member.ready_at_s, member.frozen = life.rest_ms, None, None, False
        member.settings = Settings(
            role=member.role,
            member=f"{member.name}.{member.number}",
            slot=member.slot,
            slots=sum(other.role is member.role for other in self._members),
            folder=self.folder,
            place=self.ground.place,
            faults=tuple(fault for fault in faults if isinstance(fault.trigger, AtWrite)),
            quiet_at_ms=self.start_ms + self.timetable.quiet_ms,
            plant=self.plant,
        )
        self._order({"start": member.settings.dump()})

    def _strike(self, member: Member, now_s: float) -> None:
        """The blows that come at a time, counted from when the process was at work.

        A frozen one is struck when it wakes.
        """
        assert member.ready_at_s is not None
        for fault in member.timed:
            assert isinstance(fault.trigger, AtTime)
            if (now_s - member.ready_at_s) * 1_000 >= fault.trigger.after_ms:
                member.timed.remove(fault)
                self._blow(member, fault.blow, now_s)
                return
        stop_s = self.ground.pace.stop_s
        if member.asked_at_s is not None and now_s - member.asked_at_s > stop_s:
            self.broken.append(f"{member.name}.{member.number} did not end {stop_s} s after SIGTERM")
            member.asked_at_s = now_s
            self._send(member, signal.SIGKILL)

    def _blow(self, member: Member, blow: Blow, now_s: float) -> None:
        match blow:
            case Blow.KILL:
                self._send(member, signal.SIGKILL)
            case Blow.FREEZE:
                self._send(member, signal.SIGSTOP)
            case Blow.TERM:
                self._send(member, signal.SIGTERM)
                member.asked_at_s = now_s
                self.counts["terms"] += 1

    def _strike_together(self) -> None:
        for outage in [outage for outage in self._outages if self._since_ms() >= outage[0]]:
            self._outages.remove(outage)
            self.counts["outages"] += 1
            for member in self._members:
                if member.role is outage[1] and member.settings is not None and not member.frozen:
                    member.freezes_ms.insert(0, outage[2])
                    self._send(member, signal.SIGSTOP)

    def _note_presence(self, member: Member) -> None:
        """Lengthen the scheduler's last span, or begin one."""
        if member.role is not Role.SCHEDULER or not member.is_at_work or member.settings is None:
            return
        name, now_ms = member.settings.member, _now_ms()
        last = next((one for one in reversed(self.presences) if one.member == name), None)
        from_ms = now_ms
        if last is not None and now_ms - last.until_ms < _SPAN_GAP_MS:
            self.presences.remove(last)
            from_ms = last.from_ms
        self.presences.append(Presence(member=name, from_ms=from_ms, until_ms=now_ms))

    @property
    def is_quiet(self) -> bool:
        """Whether the faults are over."""
        return self._since_ms() >= self.timetable.quiet_ms

    def _since_ms(self) -> int:
        return _now_ms() - self.start_ms

    # --- orders --------------------------------------------------------------------------------------------------
    def _send(self, member: Member, number: signal.Signals) -> None:
        assert member.settings is not None
        self._order({"member": member.settings.member, "signal": int(number)})

    def _order(self, order: dict[str, object]) -> None:
        assert self._nursery is not None
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(json.dumps(order).encode() + b"\n")

    async def _dismiss(self) -> None:
        """Ask all to end, so that what they still do is written down."""
        self._dismissed = True
        for member in self._members:
            if member.settings is not None:
                self._send(member, signal.SIGTERM)
        for _ in range(round(self.ground.pace.stop_s / _LOOK_S)):
            if all(member.settings is None for member in self._members):
                return
            await asyncio.sleep(_LOOK_S)
        left = [member.settings.member for member in self._members if member.settings is not None]
        self.broken.append(f"{left} did not end after SIGTERM when all was done")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _start_nursery(folder: Path) -> "asyncio.subprocess.Process":
    path = os.pathsep.join(map(str, (_ROOT, _ROOT / "layers/core/python", _ROOT / "layers/sdk/python")))
    with (folder / "nursery.stderr").open("wb") as errors:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.chaos.nursery",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": path, "PYTHONTZPATH": ""},
        )
