"""What a load costs a month: executions a day, how they run, how often they are tried again.

Pure: a load, what was measured, and prices in; lines of a bill out. Must not know documents.
"""

import math
from dataclasses import dataclass
from enum import Enum

from tools.cost.measured import HEARTBEAT_S, Record, Units
from tools.cost.prices import DAYS_A_MONTH, Item, of

SECONDS_A_DAY = 86_400
_GB = 1_000_000_000
_SECONDS_AN_HOUR = 3_600
_HOURS_A_DAY = 24
# Of what invokes a function X-Ray records the first of each second, and so many of the others.
_TRACED = 0.05
# Terminal executions go after so long (limits.RETENTION_S_DEFAULT).
KEPT_DAYS = 30
# The longest attempt there (limits.LAMBDA_TIMEOUT_S_MAX).
LAMBDA_RUN_S_MAX = 840
# A unit is a kilobyte; DynamoDB adds so many bytes to what an item holds.
ITEM_OVERHEAD_BYTES = 100
# A line of the metric of dispatch lag, which a batch of claims writes (adapters/telemetry/metrics.py); less than this.
METRIC_LINE_BYTES = 400
# These stay on demand where the others are provisioned (infra/table_settings.py).
ON_DEMAND_TABLES = ("journal", "control")
# Sending, receiving and deleting a hint alone, where nothing else is there to share a request with.
REQUESTS_ALONE = 3


class Place(Enum):
    """Where executions run."""

    LAMBDA = "lambda"
    FARGATE = "fargate"


class Mode(Enum):
    """How DynamoDB is paid."""

    ON_DEMAND = "on demand"
    PROVISIONED = "provisioned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What runs, and what is supposed of it: each has a flag of its own."""

    executions_a_day: int
    place: Place = Place.LAMBDA
    mode: Mode = Mode.ON_DEMAND
    run_s: float = 1.0
    # So many more attempts an execution: 0.02 is one retry for fifty.
    retries: float = 0.02
    # How full provisioned capacity is, on average.
    utilisation: float = 0.7
    # How many hints an invocation brings.
    batch: int = 10
    # What a worker adds to a run: claim, report, what is owed. Supposed: nothing was measured on AWS.
    overhead_s: float = 0.1
    worker_gb: float = 1.0
    # Places of a machine of a quarter of a processor and a GB, and how many are taken (infra/settings.py).
    places_a_machine: int = 20
    places_taken: float = 0.5
    machine_vcpu: float = 0.25
    machine_gb: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        assert self.executions_a_day > 0
        assert 0 < self.utilisation <= 1
        assert 0 < self.places_taken <= 1
        assert min(self.run_s, self.retries, self.overhead_s) >= 0
        assert self.batch >= 1

    @property
    def a_second(self) -> float:
        """On average."""
        return self.executions_a_day / SECONDS_A_DAY

    @property
    def a_month(self) -> int:
        """Of thirty days."""
        return self.executions_a_day * DAYS_A_MONTH

    @property
    def attempts(self) -> float:
        """Of an execution."""
        return 1 + self.retries


@dataclass(frozen=True, slots=True)
class Line:
    """Of a bill: for what, how much of it an execution, and dollars a month."""

    what: str
    each: str
    dollars: float


def units_of(load: Load, record: Record, *tables: str) -> Units:
    """Of one execution of this load; of these tables alone where any is named."""
    costs = record.execution(*tables)
    beats = math.floor(load.run_s / HEARTBEAT_S) * load.attempts
    return costs.plain + costs.retry.times(load.retries) + costs.heartbeat.times(beats)


def bill(load: Load, record: Record) -> tuple[Line, ...]:
    """A month of it, without what the installation costs idle."""
    units = units_of(load, record)
    unscaled = units_of(load, record, *ON_DEMAND_TABLES)
    return (*_store(load, units, unscaled), _queue(load, units), *_workers(load), *_kept(load, record), _metrics(load))


def total(lines: tuple[Line, ...]) -> float:
    """In dollars."""
    return sum(line.dollars for line in lines)


def _store(load: Load, units: Units, unscaled: Units) -> tuple[Line, Line]:
    write, read = _unit_prices(load)
    scaled = units - unscaled
    writes = scaled.writes * write + unscaled.writes * of(Item.WRITE)
    reads = scaled.reads * read + unscaled.reads * of(Item.READ)
    return (
        Line(f"DynamoDB writes, {load.mode.value}", f"{units.writes:.2f} WU", load.a_month * writes),
        Line(f"DynamoDB reads, {load.mode.value}", f"{units.reads:.2f} RU", load.a_month * reads),
    )


def _unit_prices(load: Load) -> tuple[float, float]:
    if load.mode is Mode.ON_DEMAND:
        return of(Item.WRITE), of(Item.READ)
    # 30 days are paid for with 30 days' executions, so that both modes are compared over the same time.
    used = _SECONDS_AN_HOUR * load.utilisation
    return of(Item.WRITE_HOUR) / used, of(Item.READ_HOUR) / used


def _queue(load: Load, units: Units) -> Line:
    requests = REQUESTS_ALONE * load.attempts if load.batch == 1 else units.requests
    return Line("SQS, fair", f"{requests:.2f} requests", load.a_month * requests * (of(Item.QUEUE) + of(Item.FAIR)))


def _workers(load: Load) -> tuple[Line, ...]:
    if load.place is Place.LAMBDA:
        invoked = load.attempts / load.batch
        gb_s = invoked * (load.run_s + load.overhead_s) * load.worker_gb
        return (
            Line("Lambda requests", f"{invoked:.2f}", load.a_month * invoked * of(Item.INVOKED)),
            Line("Lambda time", f"{gb_s:.3f} GB-s", load.a_month * gb_s * of(Item.LAMBDA_GB_S)),
            Line("X-Ray", f"{invoked * _TRACED:.3f} traces", load.a_month * invoked * _TRACED * of(Item.TRACE)),
        )
    machines = machines_of(load)
    each = load.machine_vcpu * of(Item.VCPU_HOUR) + load.machine_gb * of(Item.GB_HOUR) + of(Item.ADDRESS_HOUR)
    return (Line("Fargate machines", f"{machines:,} in all", machines * each * DAYS_A_MONTH * _HOURS_A_DAY),)


def machines_of(load: Load) -> int:
    """Little's law: what runs at a time, over the places of a machine that are taken."""
    return math.ceil(runs_at_once(load) / (load.places_a_machine * load.places_taken))


def runs_at_once(load: Load) -> float:
    """Little's law: arrivals a second, times how long each stays."""
    return load.a_second * load.attempts * (load.run_s + load.overhead_s)


def _kept(load: Load, record: Record) -> tuple[Line, Line]:
    stored = record.bytes_of("execution") + ITEM_OVERHEAD_BYTES
    gb = load.executions_a_day * KEPT_DAYS * stored / _GB
    each = f"{stored} B for {KEPT_DAYS} days"
    return (
        Line("DynamoDB storage of history", each, gb * of(Item.STORED_GB)),
        Line("… and its point-in-time recovery", each, gb * of(Item.RECOVERY_GB)),
    )


def _metrics(load: Load) -> Line:
    bytes_each = METRIC_LINE_BYTES * load.attempts / load.batch
    return Line(
        "Logs: the metric of dispatch lag", f"{bytes_each:.0f} B", load.a_month * bytes_each / _GB * of(Item.LOG_GB)
    )
