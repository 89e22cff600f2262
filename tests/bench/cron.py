"""How long do reading an expression and finding its next tick take, beside croniter and cronsim?

`python -m tests.bench.cron` runs the same expressions through each engine in one process and prints a table and one
JSON line. Times are CPU microseconds, the best of several rounds, because the machine may be shared.
"""

import json
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from statistics import median

from croniter import croniter

from tickwright.domain.instants import Instant, from_datetime, to_datetime
from tickwright.domain.schedules import Schedule, compact, count_ticks, from_compact, next_tick, parse
from tickwright.domain.schedules.expression import from_resolved
from tickwright.domain.schedules.fields import parse_field
from tickwright.domain.schedules.zones import load_zone

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
    """Six hundred expressions that all three engines read alike, each in one of the zones."""
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


def decade() -> dict[str, float]:
    """Ten years of missed minutes, exactly, in milliseconds of CPU."""
    schedule = parse({"cron": "* * * * *", "timezone": "America/New_York"})
    end = from_datetime(START)
    start = from_datetime(to_datetime(end) - timedelta(days=3_652))
    return {"count_ms": round(best_us(lambda: count_ticks(schedule, start, end, 10**9)) / 1_000, 2)}


def main() -> None:
    """Print the table and the line."""
    engines: dict[str, Engine] = {"tickwright": ours, "croniter": by_croniter, "cronsim": by_cronsim}
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name, engine in engines.items():
        try:
            result[name] = measure(engine)
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
