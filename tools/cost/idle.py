"""What an installation without a job costs a month, item by item, and what each buys.

Pure: a stage's settings, what was measured of its loops, what its templates hold, and prices. Must not synthesise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from infra.fleet_settings import ServiceSettings
from infra.settings import Settings
from infra.table_settings import SELDOM, Provisioned
from tools.cost.load import ON_DEMAND_TABLES
from tools.cost.measured import IdleMinute, Record
from tools.cost.prices import HOURS_A_MONTH, MINUTES_A_MONTH, SPOT_SHARE_OF_PRICE, Item, of

_MIB_A_GB = 1_024
_CPU_UNITS = 1_024
# A mapping with a maximum keeps five pollers, each of which waits 20 s for a hint.
_POLLERS, _POLLS_A_MINUTE = 5, 3
# A custom metric is paid for the hours in which something was written to it. While nothing runs that is done by the
# schedulers (BucketsServed), and by the machines of each service (PlacesTaken): all others say what happens.
_METRICS_OF_SCHEDULERS, _METRICS_OF_SERVICE = 1, 1

# Application Auto Scaling makes so many of each capacity: two on what is used of it, two on what is provisioned.
_ALARMS_OF_CAPACITY = 4


class Part(Enum):
    """Which of the two sums a line is in."""

    CORE = "core"
    FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class IdleLine:
    """What stands or turns while nothing runs."""

    what: str
    how: str
    dollars: float
    buys: str
    part: Part = Part.CORE


def idle_lines(settings: Settings, record: Record) -> tuple[IdleLine, ...]:
    """Everything that costs while nothing runs."""
    minute = record.idle(settings.stage)
    return (
        _function(settings, minute, "scheduler", "jobs start on their second; nothing else starts them"),
        _function(settings, minute, "watch", "what a dead process left is found within two minutes"),
        *_store(settings, minute),
        IdleLine(
            "EventBridge rules",
            f"{sum(minute.woken.values()):g} invocations a minute",
            sum(minute.woken.values()) * MINUTES_A_MONTH * of(Item.RULE),
            "the loops are woken, also after a crash",
        ),
        IdleLine(
            "X-Ray",
            f"{sum(minute.woken.values()):g} traces a minute",
            sum(minute.woken.values()) * MINUTES_A_MONTH * of(Item.TRACE),
            "where an invocation spent its time",
        ),
        _polling(record.standing(settings.stage)["mappings"]),
        *_standing(record.standing(settings.stage)),
        _metrics(
            custom_metrics(settings)[0], "Custom metrics", "the pulse of the schedulers: its silence is an outage"
        ),
        *_fleet(settings, record.standing(settings.stage)),
    )


def total(lines: tuple[IdleLine, ...], *parts: Part) -> float:
    """In dollars, of these parts."""
    return sum(line.dollars for line in lines if line.part in parts)


def _function(settings: Settings, minute: IdleMinute, name: str, buys: str) -> IdleLine:
    gb = settings.functions[name].memory_mib / _MIB_A_GB
    gb_s = minute.awake_s[name] * gb * MINUTES_A_MONTH
    invoked = minute.woken[name] * MINUTES_A_MONTH * of(Item.INVOKED)
    how = f"{minute.awake_s[name]:g} s of {settings.functions[name].memory_mib} MiB a minute"
    return IdleLine(f"Lambda, {name}", how, gb_s * of(Item.LAMBDA_GB_S) + invoked, buys)


def _store(settings: Settings, minute: IdleMinute) -> tuple[IdleLine, ...]:
    provisioned = settings.tables.provisioned
    if provisioned is None:
        looks = "the looks at the due index, the waiting index, the journal, the leases"
        return _on_demand(minute, (minute.writes, minute.reads), looks)
    others = minute.of_tables(*ON_DEMAND_TABLES)
    return (*_on_demand(minute, others, "the looks at the journal and the leases"), *_provisioned(provisioned))


def _on_demand(minute: IdleMinute, units: tuple[float, float], looks: str) -> tuple[IdleLine, IdleLine]:
    writes, reads = units
    return (
        IdleLine(
            "DynamoDB writes",
            f"{writes:g} WU a minute, {minute.buckets} buckets",
            writes * MINUTES_A_MONTH * of(Item.WRITE),
            "leases: one scheduler a bucket, taken over when it is silent",
        ),
        IdleLine(
            "DynamoDB reads",
            f"{reads:g} RU a minute",
            reads * MINUTES_A_MONTH * of(Item.READ),
            looks,
        ),
    )


def _provisioned(provisioned: Provisioned) -> tuple[IdleLine, IdleLine]:
    """The least of each table and each index, and what scales its reads and its writes."""
    each = (provisioned.jobs, provisioned.due, provisioned.executions, *(provisioned.seldom for _ in SELDOM))
    writes, reads = sum(one.writes.least for one in each), sum(one.reads.least for one in each)
    alarms = _ALARMS_OF_CAPACITY * 2 * len(each)
    return (
        IdleLine(
            "DynamoDB, provisioned",
            f"{writes} write and {reads} read units",
            (writes * of(Item.WRITE_HOUR) + reads * of(Item.READ_HOUR)) * HOURS_A_MONTH,
            "jobs and executions, used or not",
        ),
        IdleLine(
            "DynamoDB: alarms of scaling",
            f"on {alarms} metrics",
            alarms * of(Item.ALARM),
            "capacity is added, and taken away",
        ),
    )


def custom_metrics(settings: Settings) -> tuple[int, int]:
    """How many are written while nothing runs, without the fleet and of the fleet."""
    return _METRICS_OF_SCHEDULERS, _METRICS_OF_SERVICE * len(settings.fleet.services)


def _standing(standing: Mapping[str, int]) -> tuple[IdleLine, ...]:
    return (
        IdleLine(
            "Secrets Manager",
            f"{standing['secrets']} secrets",
            standing["secrets"] * of(Item.SECRET),
            "the key of the signing secrets, the key of the page tokens",
        ),
        IdleLine(
            "Alarms",
            f"{standing['alarms']} on {standing['alarmMetrics']} metrics",
            standing["alarmMetrics"] * of(Item.ALARM),
            "somebody is called: docs/operations.md",
        ),
        IdleLine(
            "Dashboard", f"{standing['dashboards']}", standing["dashboards"] * of(Item.DASHBOARD), "one page to look at"
        ),
    )


def _metrics(number: int, what: str, buys: str, part: Part = Part.CORE) -> IdleLine:
    return IdleLine(what, f"{number}, written each minute", number * of(Item.METRIC), buys, part)


def _polling(mappings: int) -> IdleLine:
    """Of each lane, and of the intake."""
    a_minute = mappings * _POLLERS * _POLLS_A_MINUTE
    dollars = a_minute * MINUTES_A_MONTH * of(Item.QUEUE)
    how = f"{a_minute} empty receives a minute of the mappings"
    return IdleLine("SQS", how, dollars, "a hint is met by a poller that waits")


def _fleet(settings: Settings, standing: Mapping[str, int]) -> tuple[IdleLine, ...]:
    services = settings.fleet.services
    machines = sum(service.machines_min for service in services.values())
    polls = sum(service.machines_min * len(service.places) * _POLLS_A_MINUTE for service in services.values())
    metrics = custom_metrics(settings)[1]
    return (
        *(_service(name, service) for name, service in services.items()),
        IdleLine(
            "Fleet: addresses",
            f"{machines} public IPv4",
            machines * of(Item.ADDRESS_HOUR) * HOURS_A_MONTH,
            "a way out without a NAT",
            Part.FLEET,
        ),
        IdleLine(
            "Fleet: SQS",
            f"{polls} empty receives a minute",
            polls * MINUTES_A_MONTH * of(Item.QUEUE),
            "as above, of the machines",
            Part.FLEET,
        ),
        _metrics(
            metrics, "Fleet: custom metrics", "how full the machines are, and how many: scaling goes by it", Part.FLEET
        ),
        IdleLine(
            "Fleet: alarms of scaling",
            f"on {standing['scalingMetrics']} metrics",
            standing["scalingMetrics"] * of(Item.ALARM),
            "machines are added, and taken away",
            Part.FLEET,
        ),
    )


def _service(name: str, service: ServiceSettings) -> IdleLine:
    certain = service.machines_min if service.on_demand is None else min(service.on_demand, service.machines_min)
    spot = service.machines_min - certain
    vcpu, gb = service.cpu / _CPU_UNITS, service.memory_mib / _MIB_A_GB
    hour = vcpu * of(Item.VCPU_HOUR) + gb * of(Item.GB_HOUR)
    dollars = (certain + spot * SPOT_SHARE_OF_PRICE) * hour * HOURS_A_MONTH
    how = f"{certain} certain and {spot} Spot of {vcpu:g} vCPU, {gb:g} GB"
    buys = f"Python handlers and runs over 14 minutes, in the lanes {', '.join(service.places)}"
    return IdleLine(f"Fleet: {name}", how, dollars, buys, Part.FLEET)
