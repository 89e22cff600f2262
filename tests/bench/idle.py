"""`make bench-idle`: what an installation without a job costs each minute.

The loops as the minute rules start them: each minute a scheduler for each slot and a watch, each for as long as its
function lets it. Counted is what they read and write, and how long they are awake, in some minutes after the first
hand-overs. With --scale 0.2 all that is timed goes five times as fast. Prints one JSON line, per minute.
"""

import argparse
import asyncio
import importlib
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from infra.settings import Settings, settings_of
from tests.bench.metered import Metered, installation, metered
from tests.support.installation import Installation
from tickwright.domain.limits import STANDARD
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.ticks import TicksLoop
from tickwright.loops.watch import WatchLoop

_MINUTE_MS = 60_000
_WARM_UP_MINUTES = 4  # the first schedulers have ended, and the buckets were handed over

Loop = Callable[[asyncio.Event], Awaitable[None]]


@dataclass(slots=True)
class Rules:
    """What the minute rules do, and for how long those that they woke were awake."""

    counted: Metered
    settings: Settings
    scale: float
    loop_ms: int
    watch_ms: int
    woken: Counter[str] = field(default_factory=Counter)
    awake_ms: Counter[str] = field(default_factory=Counter)
    _awake: set["asyncio.Task[None]"] = field(default_factory=set)

    def minute(self, watch: WatchLoop) -> None:
        """Wake a scheduler for each slot, and the watch."""
        slots, kit = self.settings.scheduler_slots, self.counted.kit
        for slot in range(slots):
            crew = f"scheduler-{slot}-"
            owner = f"{crew}{kit.entropy.token()}"
            loop = SchedulerLoop(kit, owner=owner, slot=slot, slots=slots, crew=crew)
            self._wake("scheduler", loop.run, self.loop_ms)
        self._wake("watch", partial(_watch, watch), self.watch_ms)

    def _wake(self, name: str, run: Loop, lasts_ms: int) -> None:
        task = asyncio.create_task(self._stay_awake(name, run, lasts_ms))
        self._awake.add(task)
        task.add_done_callback(self._awake.discard)

    async def _stay_awake(self, name: str, run: Loop, lasts_ms: int) -> None:
        stop, clock = asyncio.Event(), self.counted.kit.clock
        began_ms = clock.monotonic_ms()
        asyncio.get_running_loop().call_later(lasts_ms * self.scale / 1_000, stop.set)
        await run(stop)
        self.woken[name] += 1
        self.awake_ms[name] += round((clock.monotonic_ms() - began_ms) / self.scale)

    def forget(self) -> None:
        """Count from here."""
        self.counted.capacity.units.clear()
        self.counted.capacity.refused.clear()
        self.woken.clear()
        self.awake_ms.clear()

    async def rest(self) -> None:
        """Until all have ended."""
        await asyncio.gather(*self._awake)


async def _watch(watch: WatchLoop, stop: asyncio.Event) -> None:
    """As its function does."""
    await asyncio.gather(watch.run(stop), TicksLoop(watch.kit).look(stop))


async def _measure(made: Installation, settings: Settings, *, scale: float, minutes: int) -> dict[str, object]:
    counted = metered(made, durations=STANDARD.scaled(scale), buckets=settings.buckets)
    # They make a kit of the environment when they are imported.
    scheduler, watcher = (importlib.import_module(f"functions.{name}.handler") for name in ("scheduler", "watch"))
    watch_ms = settings.watch.timeout_s * 1_000 - watcher.LAST_LOOK_MS
    rules = Rules(counted, settings, scale, loop_ms=scheduler.LOOP_MS, watch_ms=watch_ms)
    watch = WatchLoop(counted.kit, woken_ms=round(watcher.WOKEN_MS * scale))
    for minute in range(_WARM_UP_MINUTES + minutes):
        if minute == _WARM_UP_MINUTES:
            rules.forget()
        rules.minute(watch)
        await counted.kit.clock.sleep_ms(round(_MINUTE_MS * scale))
    figures = _figures(rules, minutes)
    await rules.rest()
    return figures


def _figures(rules: Rules, minutes: int) -> dict[str, object]:
    capacity = rules.counted.capacity
    return {
        "stage": rules.settings.stage,
        "buckets": rules.settings.buckets,
        "slots": rules.settings.scheduler_slots,
        "minutes": minutes,
        "writeUnits": round(capacity.write_units / minutes, 1),
        "readUnits": round(capacity.read_units / minutes, 1),
        "awakeS": {name: round(ms / 1_000 / minutes, 1) for name, ms in sorted(rules.awake_ms.items())},
        "woken": {name: round(number / minutes, 2) for name, number in sorted(rules.woken.items())},
        "tables": {
            table: {operation: round(units / minutes, 1) for operation, units in operations.items()}
            for table, operations in rules.counted.by_table().items()
        },
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench.idle")
    parser.add_argument("--stage", default="dev", help="whose settings (default: %(default)s)")
    parser.add_argument("--minutes", type=int, default=10, help="of the installation (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=0.2, help="how long a second is (default: %(default)s)")
    asked = parser.parse_args()
    with installation() as made:
        settings = settings_of(asked.stage)
        figures = asyncio.run(_measure(made, settings, scale=asked.scale, minutes=asked.minutes))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
