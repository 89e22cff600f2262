"""What was measured of this code: units of an execution, of an idle minute, of a stored item; and what stands around.

Read from measured.json, where each line says which command made it, at which commit and when (`python -m tools.cost
note`). Must not know prices. What the benchmarks count: tests/bench/.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("measured.json")
_READS = frozenset({"get_item", "batch_get_item", "query"})
# Leases of buckets, and looks at indexes where there is something or nothing: they cost by the hour and not by the
# execution, and an idle minute has them.
_BY_THE_HOUR = "control"
_LOOKS = frozenset({("jobs", "query"), ("executions", "query")})
HEARTBEAT_S = 15
_SECONDS_A_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Of one execution."""

    writes: float
    reads: float
    requests: float

    def __sub__(self, other: "Units") -> "Units":
        return Units(
            writes=self.writes - other.writes,
            reads=self.reads - other.reads,
            requests=self.requests - other.requests,
        )

    def __add__(self, other: "Units") -> "Units":
        return Units(
            writes=self.writes + other.writes,
            reads=self.reads + other.reads,
            requests=self.requests + other.requests,
        )

    def times(self, factor: float) -> "Units":
        """So often."""
        return Units(writes=self.writes * factor, reads=self.reads * factor, requests=self.requests * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What one costs, what each try of it more does, and each heartbeat."""

    plain: Units
    retry: Units
    heartbeat: Units


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleMinute:
    """Of an installation without jobs: units, and for how many seconds its functions are awake."""

    buckets: int
    slots: int
    writes: float
    reads: float
    awake_s: Mapping[str, float]
    woken: Mapping[str, float]
    tables: Mapping[str, Mapping[str, float]]

    def of_tables(self, *tables: str) -> tuple[float, float]:
        """Writes and reads of these alone."""
        found = [pair for table in tables for pair in self.tables[table].items()]
        reads = sum(units for operation, units in found if operation in _READS)
        return sum(units for _, units in found) - reads, reads

    def looks_a_second(self, table: str) -> float:
        """Reads of a table's indexes for each bucket."""
        return self.tables[table]["query"] / _SECONDS_A_MINUTE / self.buckets


@dataclass(frozen=True, slots=True)
class Record:
    """All that was measured."""

    rows: Mapping[str, Mapping[str, Any]]

    def execution(self, *tables: str) -> Execution:
        """Of the three kinds of `make bench-units`; of these tables alone where any is named."""
        plain, retried, long = (_units(self.rows[f"units.{kind}"], tables) for kind in ("plain", "retries", "long"))
        more, beats = self.rows["units.retries"]["retries"], self.rows["units.long"]["runS"] // HEARTBEAT_S
        beat = (long - plain).times(1 / beats)
        return Execution(
            plain=plain,
            retry=(retried - plain).times(1 / more),
            # A heartbeat reads nothing and sends nothing: what else differs is the luck of two measurements.
            heartbeat=Units(writes=beat.writes, reads=0, requests=0),
        )

    def idle(self, stage: str) -> IdleMinute:
        """Of `make bench-idle`."""
        row = self.rows[f"idle.{stage}"]
        return IdleMinute(
            buckets=row["buckets"],
            slots=row["slots"],
            writes=row["writeUnits"],
            reads=row["readUnits"],
            awake_s=row["awakeS"],
            woken=row["woken"],
            tables=row["tables"],
        )

    def standing(self, stage: str) -> Mapping[str, int]:
        """What the templates of a stage make that is paid for by the month."""
        counts: Mapping[str, int] = self.rows[f"standing.{stage}"]["counts"]
        return counts

    def bytes_of(self, kind: str) -> int:
        """Of a stored item, keys and names among it."""
        return int(self.rows["sizes"]["bytes"][kind])


def read(path: Path = FILE) -> Record:
    """What has been noted."""
    return Record(json.loads(path.read_text(encoding="utf-8")))


def _units(row: Mapping[str, Any], tables: tuple[str, ...]) -> Units:
    pairs = [
        (operation, units)
        for table, operations in row["tables"].items()
        for operation, units in operations.items()
        if table != _BY_THE_HOUR and (table, operation) not in _LOOKS and (not tables or table in tables)
    ]
    return Units(
        writes=sum(units for operation, units in pairs if operation not in _READS),
        reads=sum(units for operation, units in pairs if operation in _READS),
        requests=row["sqsRequests"],
    )
