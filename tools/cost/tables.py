"""The tables of docs/capacity.md, and of `make cost`: numbers as people read them.

Must not compute: the other modules do. A table is a head and rows of text.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from infra.settings import STAGES, Settings
from tools.cost import idle, sizing
from tools.cost.load import LAMBDA_RUN_S_MAX, Line, Load, Mode, Place, bill, total
from tools.cost.measured import Record
from tools.cost.prices import MILLION, MINUTES_A_MONTH, PRICES, Item, of
from tools.cost.quotas import QUOTAS
from tools.cost.rivals import rivals

DEFINITIONS = 50 * MILLION
HERD = 100_000
FARGATE_RUN_S_MIN = 60.0
SMALL, LARGE = 10 * MILLION, 500 * MILLION
# What an AWS account has free each month, for good; all of it, if nothing else of the account takes any.
_FREE_ALARMS, _FREE_METRICS, _FREE_DASHBOARDS, _FREE_REQUESTS, _FREE_GB_S = 10, 10, 3, MILLION, 400_000
_STAGES = ("dev", "prod")
_RUNS_S = (0.2, 1.0, 30.0, 300.0)
_HERD_WITHIN_S = (1, 10, 60)
_CENTS_BELOW = 100
_NONE = "-"


def dollars(value: float) -> str:
    """Cents where they matter."""
    return f"${value:,.2f}" if value < _CENTS_BELOW else f"${value:,.0f}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """As Markdown."""
    lines = [heads, ["---" for _ in heads], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


# --- what was measured ------------------------------------------------------------------------------------------
def units(record: Record) -> str:
    """Of one execution."""
    costs = record.execution()
    rows = [
        (name, f"{each.writes:.2f}", f"{each.reads:.2f}", f"{each.requests:.2f}")
        for name, each in (
            ("a cron execution, from due to SUCCEEDED", costs.plain),
            ("each attempt more", costs.retry),
            ("each heartbeat (every 15 s of a run)", costs.heartbeat),
        )
    ]
    return table(("what", "write units", "read units", "SQS requests"), rows)


def evidence(record: Record) -> str:
    """Which command measured what, and when."""
    rows = [
        (f"`{name}`", f"`{row['command']}`", f"`{row['commit']}`", row["date"]) for name, row in record.rows.items()
    ]
    return table(("measurement", "command", "at commit", "on"), rows)


def prices(_: Record) -> str:
    """Every price that is used."""
    rows = []
    for item, price in PRICES.items():
        per_million = price.dollars < 0.001  # noqa: PLR2004 - what is below a tenth of a cent is told by the million
        shown = f"${price.dollars * MILLION:,.3g} / M" if per_million else f"${price.dollars:g}"
        rows.append((item.value, shown, price.source, price.trust.value))
    return table(("what", "price", "read at", "how sure"), rows)


# --- what a load costs ------------------------------------------------------------------------------------------
def variants(executions_a_day: int, *, of_load: Load | None = None) -> dict[str, Load]:
    """The columns of a bill: short web hooks on Lambda in both modes, and Python on Fargate that heartbeats.

    What Lambda would cut off has none there.
    """
    short = of_load or Load(executions_a_day=executions_a_day)
    long = replace(short, place=Place.FARGATE, run_s=max(FARGATE_RUN_S_MIN, short.run_s))
    paid = replace(short, mode=Mode.PROVISIONED)
    on_lambda = {
        f"Lambda, {short.run_s:g} s, on demand": replace(short, mode=Mode.ON_DEMAND, place=Place.LAMBDA),
        f"Lambda, {short.run_s:g} s, provisioned": replace(paid, place=Place.LAMBDA),
    }
    return (on_lambda if short.run_s <= LAMBDA_RUN_S_MAX else {}) | {
        f"Fargate, {long.run_s:g} s, on demand": replace(long, mode=Mode.ON_DEMAND),
        f"Fargate, {long.run_s:g} s, provisioned": replace(long, mode=Mode.PROVISIONED),
    }


def bills(loads: dict[str, Load], record: Record) -> str:
    """A month of each, side by side."""
    columns = {name: bill(load, record) for name, load in loads.items()}
    named: dict[str, dict[str, Line]] = {}
    for column, lines in columns.items():
        for line in lines:
            named.setdefault(line.what.split(",")[0], {})[column] = line
    rows = [
        (what, *(f"{dollars(by[c].dollars)} ({by[c].each})" if c in by else _NONE for c in columns))
        for what, by in named.items()
    ]
    sums = {name: total(lines) for name, lines in columns.items()}
    rows.append(("**a month**", *(f"**{dollars(value)}**" for value in sums.values())))
    millions = next(iter(loads.values())).a_month / MILLION
    rows.append(("a million executions", *(dollars(value / millions) for value in sums.values())))
    return table(("a month of 30 days", *columns), rows)


def provisioned(load: Load, record: Record) -> str:
    """What `tables.provisioned` would have to be for the average of a load."""
    rows = [
        (
            f"`{each.where}`",
            f"{each.writes:,.0f}",
            f"{each.reads:,.0f}",
            f"{each.write_units:,}",
            f"{each.read_units:,}",
        )
        for each in sizing.taken(load, record)
    ]
    full = f"{100 * load.utilisation:g} % full"
    heads = ("`tables.provisioned`", "writes a second", "reads a second", f"write units, {full}", f"read units, {full}")
    return table(heads, rows)


def others(load: Load) -> str:
    """What others ask for as many."""
    rows = [(each.name, each.how, dollars(each.dollars), each.without) for each in rivals(load)]
    return table(("service", "counted", "a month", "what to know"), rows)


# --- what it costs idle -----------------------------------------------------------------------------------------
def idle_table(settings: Settings, record: Record) -> str:
    """Of a stage: every item, what it buys, and the sums."""
    lines = idle.idle_lines(settings, record)
    core = idle.total(lines, idle.Part.CORE)
    fleet = idle.total(lines, idle.Part.FLEET)
    rows = [(line.what, line.how, dollars(line.dollars), line.buys) for line in lines]
    rows.append(("**without the fleet**", "", f"**{dollars(core)}**", "jobs with web hooks and AWS targets"))
    rows.append(("**with the fleet**", "", f"**{dollars(core + fleet)}**", "Python handlers and long runs too"))
    given = free(settings, record)
    rows.append(
        ("less what AWS gives each account", "", f"-{dollars(given)}", "if nothing else of the account takes it")
    )
    rows.append(("**so, with the fleet**", "", f"**{dollars(core + fleet - given)}**", ""))
    return table(("item", "how much", "a month", "what it buys"), rows)


def free(settings: Settings, record: Record) -> float:
    """What AWS gives each account for good, of what an idle installation takes."""
    standing, minute = record.standing(settings.stage), record.idle(settings.stage)
    minutes = MINUTES_A_MONTH
    gb_s = sum(
        seconds * settings.functions[name].memory_mib / 1_024 * minutes for name, seconds in minute.awake_s.items()
    )
    return (
        min(standing["alarmMetrics"], _FREE_ALARMS) * of(Item.ALARM)
        + min(sum(idle.custom_metrics(settings)), _FREE_METRICS) * of(Item.METRIC)
        + min(standing["dashboards"], _FREE_DASHBOARDS) * of(Item.DASHBOARD)
        + _FREE_REQUESTS * of(Item.QUEUE)
        + min(gb_s, _FREE_GB_S) * of(Item.LAMBDA_GB_S)
    )


def idle_dev(record: Record) -> str:
    """The smallest installation."""
    return idle_table(STAGES["dev"], record)


def idle_prod(record: Record) -> str:
    """One that is sized for load before there is any."""
    return idle_table(STAGES["prod"], record)


# --- how far it carries -----------------------------------------------------------------------------------------
def stored(record: Record) -> str:
    """Fifty million definitions."""
    kinds = sizing.storage(DEFINITIONS, record)
    rows = []
    for each in kinds:
        partitions = math.ceil(each.gb / sizing.PARTITION_GB)
        rows.append((each.kind, f"{each.bytes_each} B", f"{each.gb:,.1f} GB", str(partitions), dollars(each.dollars)))
    gb, cost = sum(each.gb for each in kinds), sum(each.dollars for each in kinds)
    rows.append(("**all**", "", f"**{gb:,.0f} GB**", "", f"**{dollars(cost)}**"))
    return table(("item", "each", "in all", "partitions by size", "a month, with recovery"), rows)


def due_index(record: Record) -> str:
    """What fifty million definitions ask of the due index, by how often they fire."""
    rows = []
    for name, every_s in sizing.CADENCES:
        rate = sizing.fires_a_second(DEFINITIONS, every_s)
        held = max(STAGES["prod"].buckets, math.ceil(rate / sizing.FIRES_A_BUCKET_PLANNED))
        needed = sizing.buckets(rate, record, held=held)
        rows.append(
            (
                f"each fires {name}",
                f"{rate:,.0f}",
                str(needed.at_the_limit),
                str(held),
                f"{needed.heads_a_look:,.1f}",
                f"{needed.read_units_a_second:,.0f} RU/s",
                f"{rate * sizing.INDEX_WRITES_A_FIRE:,.0f} WU/s",
            )
        )
    heads = ("50 M definitions", "fires a second", "buckets at the limit", "buckets planned", "heads a look and bucket")
    return table((*heads, "scan of the busy lane", "writes of the index"), rows)


def littles_law(_: Record) -> str:
    """Both loads, by how long a run takes."""
    rows = []
    for executions in (SMALL, LARGE):
        for run_s in _RUNS_S:
            load = Load(executions_a_day=executions, run_s=run_s)
            needed = sizing.work(load)
            rows.append(
                (
                    f"{executions // MILLION} M",
                    f"{load.a_second:,.0f}",
                    f"{run_s:g} s",
                    f"{needed.at_once:,.0f}",
                    f"{needed.invocations:,}",
                    f"{needed.machines:,}",
                    f"{needed.heartbeats_a_second:,.0f}",
                    str(needed.queues),
                )
            )
    heads = ("a day", "a second", "a run", "runs at once", "invocations of Lambda", "or machines of dev's size")
    return table((*heads, "heartbeats (WU) a second", "queues by what may be in flight"), rows)


def herd(_: Record) -> str:
    """100,000 jobs of one second."""
    rows = [
        (
            demand.where,
            demand.how,
            f"{demand.writes_a_second:,.0f}",
            str(demand.partitions),
            "raise" if demand.is_over_the_default else "is enough",
        )
        for demand in sizing.herd(HERD, start_within_s=10)
    ]
    heads = ("table or index", "writes", "WU a second", "warm partitions", "the default quota of 40,000")
    return table(heads, rows)


def herd_places(_: Record) -> str:
    """How many runs at once start the last of the herd in time."""
    rows = [
        (
            f"{run_s:g} s",
            *(f"{sizing.places_for(HERD, run_s=run_s, start_within_s=within):,}" for within in _HERD_WITHIN_S),
        )
        for run_s in _RUNS_S
    ]
    return table(("a run takes", *(f"all started within {within} s" for within in _HERD_WITHIN_S)), rows)


def quotas(_: Record) -> str:
    """What to ask AWS for."""
    rows = [(each.service, each.name, each.code or _NONE, each.default, each.ask, each.why) for each in QUOTAS]
    return table(("service", "quota", "code", "has", "ask for", "because"), rows)
