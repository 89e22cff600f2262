"""How far an installation carries: storage, buckets, workers at once, heartbeats, a herd of one second, quotas.

Pure arithmetic over what was measured and what AWS allows. Must not know prices other than of storage.
"""

import math
from dataclasses import dataclass, replace

from infra.settings import STAGES
from tools.cost.load import ITEM_OVERHEAD_BYTES, SECONDS_A_DAY, Load, runs_at_once, units_of
from tools.cost.measured import HEARTBEAT_S, Record
from tools.cost.prices import Item, of

_GB = 1_000_000_000
# A partition of a table or an index takes so many units a second, and holds so much.
PARTITION_WRITES, PARTITION_READS, PARTITION_GB = 1_000, 3_000, 10
# A decision moves a job within the due index: out and in.
INDEX_WRITES_A_FIRE = 2
# Half of what a partition takes is planned for, less a fifth: hashes are not even, and edits want room.
FIRES_A_BUCKET_PLANNED = 200
LOOKAHEAD_S = 5
# Eventually consistent: half a unit for four kilobytes.
_READ_BYTES, _EVENTUALLY = 4_096, 0.5
# Hints of a standard queue that may be in flight.
IN_FLIGHT_MAX = 120_000
# DynamoDB keeps what was not used in five minutes. An index at rest takes twice its capacity for as long, and more is
# provisioned by then.
_BURST_MAKES_UP = 2
# What an account has until it is raised.
TABLE_WRITES_DEFAULT = 40_000
CONCURRENCY_DEFAULT = 1_000


@dataclass(frozen=True, slots=True)
class Stored:
    """Of one kind of item: how many bytes each, in the table and its indexes, and what all of them cost a month."""

    kind: str
    bytes_each: int
    gb: float
    dollars: float


def storage(definitions: int, record: Record) -> tuple[Stored, ...]:
    """Of so many jobs, each with one version, a name and a tick ahead."""
    head = record.bytes_of("head")
    kinds = {
        "head": head,
        "definition": record.bytes_of("definition"),
        "name": record.bytes_of("name"),
        "due index (all of the head)": head,
        # Keys and three attributes more; a head is the most that it can be.
        "tenant index (at most)": head // 2,
    }
    made = []
    for kind, size in kinds.items():
        each = size + ITEM_OVERHEAD_BYTES
        gb = each * definitions / _GB
        recovery = 0 if "index" in kind else of(Item.RECOVERY_GB)
        made.append(Stored(kind, each, gb, gb * (of(Item.STORED_GB) + recovery)))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a rate of fires asks of the due index."""

    fires_a_second: float
    at_the_limit: int
    planned: int
    heads_a_look: float
    read_units_a_second: float


def buckets(fires_a_second: float, record: Record, *, held: int) -> Buckets:
    """For so many fires a second, spread evenly, over so many buckets that a loop looks at each second."""
    limit = PARTITION_WRITES // INDEX_WRITES_A_FIRE
    # Each look finds what came within the look-ahead since the last one: what is decided is gone from the index.
    found = fires_a_second / held
    read = max(_EVENTUALLY, math.ceil(found * record.bytes_of("head") / _READ_BYTES) * _EVENTUALLY)
    return Buckets(
        fires_a_second=fires_a_second,
        at_the_limit=math.ceil(fires_a_second / limit),
        planned=math.ceil(fires_a_second / FIRES_A_BUCKET_PLANNED),
        heads_a_look=found,
        read_units_a_second=read * held,
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """What a load takes of a table or an index a second, on average, and what is provisioned for that."""

    where: str
    writes: float
    reads: float
    write_units: int
    read_units: int


def taken(load: Load, record: Record) -> tuple[Taken, ...]:
    """Of what `tables.provisioned` names, in its order: plain executions, and looks of prod's schedulers and watch."""
    rate, prod = load.a_second, STAGES["prod"]
    held = max(prod.buckets, math.ceil(rate / FIRES_A_BUCKET_PLANNED))
    looks = {table: record.idle(prod.stage).looks_a_second(table) * held for table in ("jobs", "executions")}
    jobs, executions = (units_of(load, record, table).times(rate) for table in ("jobs", "executions"))
    moved = INDEX_WRITES_A_FIRE * rate
    due_reads = looks["jobs"] + buckets(rate, record, held=held).read_units_a_second
    # A death is one unit of the attention index.
    deaths = math.ceil(rate / _BURST_MAKES_UP)
    return (
        _taken(load, "jobs", jobs.writes - moved, jobs.reads),
        _taken(load, "due", moved, due_reads),
        _taken(load, "executions", executions.writes, executions.reads),
        replace(_taken(load, "seldom", 0, looks["executions"]), write_units=deaths),
    )


def _taken(load: Load, where: str, writes: float, reads: float) -> Taken:
    write_units, read_units = (math.ceil(units / load.utilisation) for units in (writes, reads))
    return Taken(where, writes, reads, write_units, read_units)


@dataclass(frozen=True, slots=True)
class Work:
    """Little's law for one load."""

    run_s: float
    at_once: float
    invocations: int
    machines: int
    heartbeats_a_second: float
    queues: int


def work(load: Load) -> Work:
    """What runs at a time, and what that takes."""
    at_once = runs_at_once(load)
    beating = at_once if load.run_s >= HEARTBEAT_S else 0.0
    return Work(
        run_s=load.run_s,
        at_once=at_once,
        invocations=math.ceil(at_once / load.batch),
        machines=math.ceil(at_once / (load.places_a_machine * load.places_taken)),
        heartbeats_a_second=beating / HEARTBEAT_S,
        queues=math.ceil(at_once / IN_FLIGHT_MAX),
    )


@dataclass(frozen=True, slots=True)
class Demand:
    """Of a table or an index in the seconds of a herd."""

    where: str
    how: str
    writes_a_second: float

    @property
    def partitions(self) -> int:
        """As many must be warm beforehand."""
        return math.ceil(self.writes_a_second / PARTITION_WRITES)

    @property
    def is_over_the_default(self) -> bool:
        """Whether the quota of a table or index has to be raised first."""
        return self.writes_a_second > TABLE_WRITES_DEFAULT


def herd(jobs: int, *, start_within_s: float) -> tuple[Demand, ...]:
    """So many due in the same second: decided within the look-ahead, all started within so many seconds."""
    decided = jobs / LOOKAHEAD_S
    return (
        Demand("jobs", "a decision each, within the look-ahead", decided),
        Demand("jobs, index due", "out and in", INDEX_WRITES_A_FIRE * decided),
        Demand("executions, before the second", "an insert each, within the look-ahead", decided),
        Demand("executions, from the second on", "a claim and an end each", 2 * jobs / start_within_s),
    )


def places_for(jobs: int, *, run_s: float, start_within_s: float) -> int:
    """Runs at once so that the last of a herd starts in time: each place takes another every `run_s`."""
    turns = 1 + math.floor(start_within_s / run_s)
    return math.ceil(jobs / turns)


def fires_a_second(definitions: int, every_s: float) -> float:
    """Of so many jobs, each of which fires every so many seconds."""
    return definitions / every_s


CADENCES = (("once a day", SECONDS_A_DAY), ("once an hour", 3_600), ("every five minutes", 300))
