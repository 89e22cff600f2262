"""How long do reading an expression and finding its next tick take, beside croniter, cronsim and croner?

`python -m tests.bench.cron` runs the same expressions through each engine and prints a table and one JSON line. croner
is JavaScript and runs in a process of its own, where Node.js and npm are; the others share this one. Times are CPU
microseconds, the best of several rounds, because the machine may be shared.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median

from croniter import croniter

from tickwright.domain.instants import Instant, from_datetime, to_datetime
from tickwright.domain.schedules import Schedule, compact, count_ticks, from_compact, next_tick, parse
from tickwright.domain.schedules.expression import from_resolved
from tickwright.domain.schedules.fields import parse_field
from tickwright.domain.schedules.zones import load_zone

CRONER = Path(__file__).parent / "croner"
ROUNDS = 5
STEPS = 20
START = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
MINUTES = ("*", "*/5", "*/15", "0", "7", "30", "0,30", "17", "5-55/10", "59")
HOURS = ("*", "*/2", "9-17", "0", "4", "23")
DAYS = (
    ("*", "*"),
    ("*", "1-5"),
    ("1", "*"),
    ("L", "*"),
    ("13", "5"),
    ("*", "5#3"),
    ("29", "*"),
    ("15", "*"),
    ("28", "*"),
    ("*", "0"),
)

Engine = Callable[[str, str], tuple[Callable[[], object], Callable[[], object]]]


def expressions() -> list[tuple[str, str]]:
    """Six hundred expressions that all engines read alike, each in one of the zones."""
    made = [
        (f"{minute} {hour} {day} * {weekday}", ZONES[(at + other) % len(ZONES)])
        for at, minute in enumerate(MINUTES)
        for other, hour in enumerate(HOURS)
        for day, weekday in DAYS
    ]
    assert len(made) == 600
    return made


def ours(text: str, zone: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """Reading without its caches, and a run of next ticks on the stored form."""

    def read() -> Schedule:
        from_resolved.cache_clear()
        parse_field.cache_clear()
        return parse({"cron": text, "timezone": zone})

    stored = compact(read())

    def step() -> Instant:
        at = from_datetime(START)
        for _ in range(STEPS):
            tick = next_tick(from_compact(stored), at)
            assert tick is not None
            at = tick.at
        return at

    return read, step


def by_croniter(text: str, zone: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """The same with croniter."""
    start = START.astimezone(load_zone(zone))

    def step() -> object:
        engine = croniter(text, start, ret_type=datetime)
        return [engine.get_next() for _ in range(STEPS)][-1]

    return lambda: croniter(text, start), step


def by_cronsim(text: str, zone: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """The same with cronsim."""
    make = import_module("cronsim").CronSim
    start = START.astimezone(load_zone(zone))

    def step() -> object:
        engine = make(text, start)
        return [next(engine) for _ in range(STEPS)][-1]

    return lambda: make(text, start), step


def best_us(call: Callable[[], object]) -> float:
    """The fastest of several rounds, in microseconds of CPU."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - start)
    return min(times) / 1_000


def figures(values: Iterable[float]) -> dict[str, float]:
    """Median, 99th percentile and worst, rounded."""
    ordered = sorted(values)
    picked = {"p50": median(ordered), "p99": ordered[int(len(ordered) * 0.99)], "max": ordered[-1]}
    return {name: round(value, 2) for name, value in picked.items()}


def measure(engine: Engine) -> dict[str, dict[str, float]]:
    """Reading and stepping over all expressions."""
    reads, steps = [], []
    for text, zone in expressions():
        read, step = engine(text, zone)
        reads.append(best_us(read))
        steps.append(best_us(step) / STEPS)
    return {"parse_us": figures(reads), "next_us": figures(steps)}


def measure_croner() -> dict[str, dict[str, float]]:
    """The same in Node.js; ModuleNotFoundError where it cannot be had."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise ModuleNotFoundError("Node.js or npm is missing")
    if not (CRONER / "node_modules" / "croner").is_dir():
        subprocess.run([npm, "ci", "--silent"], cwd=CRONER, check=True)
    asked = {"start": START.isoformat(), "rounds": ROUNDS, "steps": STEPS, "expressions": expressions()}
    said = subprocess.run(
        [node, str(CRONER / "bench.mjs")], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    pairs = json.loads(said.stdout)
    return {"parse_us": figures(read for read, _ in pairs), "next_us": figures(step for _, step in pairs)}


def decade() -> dict[str, float]:
    """Ten years of missed minutes, exactly, in milliseconds of CPU."""
    schedule = parse({"cron": "* * * * *", "timezone": "America/New_York"})
    end = from_datetime(START)
    start = from_datetime(to_datetime(end) - timedelta(days=3_652))
    return {"count_ms": round(best_us(lambda: count_ticks(schedule, start, end, 10**9)) / 1_000, 2)}


def main() -> None:
    """Print the table and the line."""
    engines: dict[str, Callable[[], dict[str, dict[str, float]]]] = {
        "tickwright": partial(measure, ours),
        "croniter": partial(measure, by_croniter),
        "cronsim": partial(measure, by_cronsim),
        "croner": measure_croner,
    }
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name, engine in engines.items():
        try:
            result[name] = engine()
        except ModuleNotFoundError as missing:
            print(f"{name}: not installed ({missing}); it is left out")
    print(f"{'600 expressions':16s} {'parse us p50':>13s} {'next us p50':>12s} {'p99':>8s} {'max':>8s}")
    for name, measured in result.items():
        step = measured["next_us"]
        print(
            f"{name:16s} {measured['parse_us']['p50']:13.2f} {step['p50']:12.2f} {step['p99']:8.2f} {step['max']:8.2f}"
        )
    print(json.dumps(result | {"ten_years_of_minutes": decade()}))


if __name__ == "__main__":
    main()
