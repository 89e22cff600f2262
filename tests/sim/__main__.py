"""`make sim SEEDS=2000 [FROM=0] [PLANT=no-fence]`: simulate seeds on all cores; the last line is JSON.

A seed that shows a violation is made smaller and printed as a plan file, which `PLAN=file` plays again; with a plant
only where `--keep file` says where to put it. Exit status 1 if there was a violation without a plant, or none with one.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.sim import plants
from tests.sim.plan import Plan, plan_of
from tests.sim.shrink import shrunk
from tests.sim.simulation import Report, simulate
from tests.sim.sometimes import missing

_BATCH = 20
_SHOWN_MAX = 5
_TRACED_EACH = 100  # so many seeds: one is played twice and must leave the same trace


@dataclass(slots=True)
class Tally:
    """What all seeds came to."""

    seeds: int = 0
    commits: int = 0
    found: list[tuple[int, str]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Put a batch to the others."""
        self.seeds += other.seeds
        self.commits += other.commits
        self.found += other.found
        self.seen += other.seen


def main() -> int:
    """Parse, play, print."""
    asked = _asked()
    if asked.plan:
        return _again(Plan.load(Path(asked.plan).read_text()), asked.plant)
    began = time.monotonic()
    tally = Tally()
    for batch in _batches(asked):
        tally.add(batch)
        if tally.found and asked.plant:
            break
    took_s = time.monotonic() - began
    for seed, told in tally.found[:_SHOWN_MAX]:
        print(f"seed {seed}: {told}")
    if tally.found and (asked.keep or not asked.plant):
        _put_small(tally.found[0][0], asked)
    lacking = missing(tally.seen) if not asked.plant and tally.seeds >= asked.enough else []
    print("\n".join(f"never seen: {name}" for name in lacking), end="\n" if lacking else "")
    line = {"seeds": tally.seeds, "violations": len(tally.found), "eventsPerSec": round(tally.commits / took_s)}
    print(json.dumps(line | {"from": asked.first, "seconds": round(took_s, 1), "plant": asked.plant or None}))
    return int(bool(lacking) or bool(tally.found) != bool(asked.plant))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sim")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--plant", default="", choices=["", *plants.names()])
    parser.add_argument("--plan", default="", help="a plan file, played once")
    parser.add_argument("--keep", default="", help="where to put the plan that shows a violation, made smaller")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--enough", type=int, default=2_000, help="seeds after which all must have been seen")
    return parser.parse_args()


def _batches(asked: argparse.Namespace) -> Iterator[Tally]:
    firsts = range(asked.first, asked.first + asked.seeds, _BATCH)
    ends = asked.first + asked.seeds
    with ProcessPoolExecutor(asked.jobs, initializer=plants.install, initargs=(asked.plant,)) as pool:
        futures = [pool.submit(_batch, first, min(first + _BATCH, ends)) for first in firsts]
        try:
            yield from (future.result() for future in futures)
        finally:
            pool.shutdown(cancel_futures=True)


def _batch(first: int, end: int) -> Tally:
    tally = Tally()
    for seed in range(first, end):
        report = simulate(plan_of(seed), traced=seed % _TRACED_EACH == 0)
        tally.seeds += 1
        tally.commits += report.commits
        tally.seen += report.seen
        if (told := _told(report)) is not None:
            tally.found.append((seed, told))
    return tally


def _told(report: Report) -> str | None:
    if report.violations:
        first = report.violations[0]
        return f"{first.name} of {first.job}: {first.detail}"
    if report.trace is not None and simulate(report.plan, traced=True).trace != report.trace:
        return "ReplayIsEqual of -: a second run left another trace"
    return None


def _put_small(seed: int, asked: argparse.Namespace) -> None:
    with ProcessPoolExecutor(1, initializer=plants.install, initargs=(asked.plant,)) as pool:
        small = pool.submit(_small, seed).result()
    if asked.keep:
        Path(asked.keep).write_text(f"{small}\n")
    else:
        print(f"seed {seed}, made smaller:\n{small}")


def _small(seed: int) -> str:
    plan = plan_of(seed)
    names = {violation.name for violation in simulate(plan).violations[:1]}
    return shrunk(plan, lambda other: bool(names & {one.name for one in simulate(other).violations})).dump()


def _again(plan: Plan, plant: str) -> int:
    """Exit status 0 if what is expected came: a violation with a plant, none without."""
    plants.install(plant)
    report = simulate(plan)
    for violation in report.violations:
        print(f"{violation.name} of {violation.job}: {violation.detail}")
    print(json.dumps({"seeds": 1, "violations": len(report.violations), "plant": plant or None}))
    return int(bool(report.violations) != bool(plant))


if __name__ == "__main__":
    sys.exit(main())
