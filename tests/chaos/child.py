"""One process of a run: a scheduler with its watch, or a worker.

It is wired as in the product; only its store may strike it down on purpose. It ends gracefully on SIGTERM. Must not
know who else is there.
"""

import asyncio
import json
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

from tests.chaos import plants
from tests.chaos.behaviour import registry
from tests.chaos.brittle import BrittleStore, Fate
from tests.chaos.evidence import ATTEMPTS, EVENTS, Diary
from tests.chaos.grounds import process_kit
from tests.chaos.timetable import Aim, AtWrite, Blow, Fault, Role
from tickwright.adapters.targets.python import PythonRunner
from tickwright.domain.events import Happening
from tickwright.domain.ids import WorkerId
from tickwright.domain.pools import FARGATE
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.store import Store
from tickwright.services.kit import Kit
from tickwright.wiring.embedded import StoreUnusable

BUSY = 75  # the exit status of a process that could not open the file: try again
_LOOK_S = 0.1
_STALLED_S = 0.5
_GRACE_MS = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process is started with."""

    role: Role
    member: str  # fresh for each life: w1.3 is the third life of w1
    slot: int
    slots: int
    folder: Path
    place: Mapping[str, Any]
    faults: tuple[Fault, ...]
    quiet_at_ms: int
    plant: str

    @property
    def ready(self) -> Path:
        """A file that says that the process is at work."""
        return self.folder / f"{self.member}.ready"

    def dump(self) -> str:
        """As an argument of a command."""
        faults = [_dumped(fault) for fault in self.faults if isinstance(fault.trigger, AtWrite)]
        plain = {"role": self.role.value, "folder": str(self.folder), "faults": faults}
        rest = {name: getattr(self, name) for name in ("member", "slot", "slots", "place", "quiet_at_ms", "plant")}
        return json.dumps({**plain, **rest})

    @classmethod
    def load(cls, text: str) -> Self:
        """Read it back."""
        found = json.loads(text)
        faults = tuple(_loaded(fault) for fault in found.pop("faults"))
        role, folder = Role(found.pop("role")), Path(found.pop("folder"))
        return cls(role=role, folder=folder, faults=faults, **found)


def _dumped(fault: Fault) -> dict[str, Any]:
    assert isinstance(fault.trigger, AtWrite)
    trigger = fault.trigger
    return {"blow": fault.blow.value, "aim": trigger.aim.value, "nth": trigger.nth, "before": trigger.before}


def _loaded(found: dict[str, Any]) -> Fault:
    trigger = AtWrite(aim=Aim(found["aim"]), nth=found["nth"], before=found["before"])
    return Fault(blow=Blow(found["blow"]), trigger=trigger)


@dataclass(frozen=True, slots=True)
class DiaryTelemetry:
    """Events of the product as lines of the process's diary: what is written before a kill stays."""

    diary: Diary
    member: str

    def emit(self, happening: Happening) -> None:
        """One line."""
        self.diary.note({"event": happening.name.value, "member": self.member, **happening.about, **happening.measured})

    def stalled(self, took_ns: int) -> None:
        """The process could do nothing for so long, up to now."""
        from_ms = (time.time_ns() - took_ns) // 1_000_000
        self.diary.note({"event": "stalled", "member": self.member, "fromMs": from_ms})


async def main(settings: Settings) -> int:
    """Serve until told to stop; the exit status. A file that a frozen process holds cannot be opened.

    It is tried again.
    """
    plants.install(settings.plant)
    events = Diary(settings.folder / f"{settings.member}.{EVENTS}.jsonl", sure=False)
    telemetry = DiaryTelemetry(events, settings.member)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    try:
        async with process_kit(settings.place, telemetry, settings.member) as kit:
            await _live(settings, kit, telemetry, stop)
    except StoreUnusable:
        return BUSY
    return 0


async def _live(settings: Settings, kit: Kit, telemetry: DiaryTelemetry, stop: asyncio.Event) -> None:
    fate = Fate(faults=list(settings.faults), over_at_ms=settings.quiet_at_ms)
    reads = settings.role is Role.SCHEDULER
    store = BrittleStore(kit.store, fate, telemetry.stalled, notes_reads=reads)
    brittle = replace(kit, store=cast("Store", store))
    watching = asyncio.create_task(_watch_the_loop(telemetry))
    settings.ready.touch()
    await _serve(settings, brittle, stop)
    watching.cancel()
    await _end_the_rest()


async def _end_the_rest() -> None:
    """What is still at work when the grace is over ends with its process, before the store is closed under it."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for one in rest:
        one.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


async def _serve(settings: Settings, kit: Kit, stop: asyncio.Event) -> None:
    if settings.role is Role.SCHEDULER:
        scheduler = SchedulerLoop(kit, settings.member, slot=settings.slot, slots=settings.slots)
        await asyncio.gather(scheduler.run(stop), WatchLoop(kit).run(stop))
        return
    diary = Diary(settings.folder / f"{settings.member}.{ATTEMPTS}.jsonl", sure=True)
    runners = {"python": PythonRunner(registry(diary, settings.member))}
    await WorkerLoop(kit, runners, WorkerId(settings.member), pools=(FARGATE,), grace_ms=_GRACE_MS).run(stop)


async def _watch_the_loop(telemetry: DiaryTelemetry) -> None:
    """Notes whenever the event loop stood still: frozen, starved of the processor, or held up by the code of a job."""
    while True:
        began_ns = time.monotonic_ns()
        await asyncio.sleep(_LOOK_S)
        took_ns = time.monotonic_ns() - began_ns
        if took_ns > _STALLED_S * 1e9:
            telemetry.stalled(took_ns)
