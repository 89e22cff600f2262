"""What `make run` shows: a table of what fires, with the lag of each, live on a terminal and line by line elsewhere.

Fed by events alone; it knows no store. Lag is from the tick to the start of its first attempt: the rows of later ones
have none, for what lies before them is a backoff that was meant.
"""

import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from tickwright.domain.events import EventName, Happening
from tickwright.domain.ids import parse_execution_id, time_of
from tickwright.domain.instants import to_rfc3339

_ROWS = 18
_STATES = {
    EventName.EXECUTION_QUEUED: "queued",
    EventName.EXECUTION_CLAIMED: "running",
    EventName.EXECUTION_SUCCEEDED: "succeeded",
    EventName.EXECUTION_RETRYING: "retry",
    EventName.EXECUTION_DEAD: "dead",
    EventName.EXECUTION_CANCELLED: "cancelled",
    EventName.EXECUTION_SKIPPED: "skipped",
    EventName.EXECUTION_REAPED: "reaped",
    EventName.EXECUTION_GIVEN_BACK: "given back",
}
_COLOURS = {"succeeded": "green", "dead": "red", "retry": "yellow", "cancelled": "magenta", "running": "cyan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    job_id: str
    tick: str
    state: str
    attempt: int = 0
    lag_ms: int | None = None
    reason: str = ""

    def cells(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        lag = "" if self.lag_ms is None else f"{self.lag_ms} ms"
        return (
            self.tick,
            labels.get(self.job_id, self.job_id[:8]),
            str(self.attempt or ""),
            self.state,
            lag,
            self.reason,
        )


class Board:
    """Takes events (it is a Telemetry) and shows the executions that they are about."""

    def __init__(self, out: TextIO | None = None) -> None:
        """Show on `out`, the standard output by default."""
        self.labels: dict[str, str] = {}
        self._console = Console(file=out or sys.stdout, highlight=False)
        self._lines: OrderedDict[str, _Line] = OrderedDict()
        self._live: Live | None = None

    def emit(self, happening: Happening) -> None:
        """Note one event."""
        if happening.name is EventName.JOB_SUBMITTED and happening.about["name"]:
            self.labels.setdefault(happening.about["jobId"], happening.about["name"])
        state = _STATES.get(happening.name)
        execution_id = happening.about.get("executionId")
        if state is not None and execution_id is not None:
            self._show(execution_id, self._line(execution_id, state, happening))

    def _line(self, execution_id: str, state: str, happening: Happening) -> _Line:
        job_id = happening.about.get("jobId", "")
        ref = parse_execution_id(execution_id)
        fresh = _Line(
            job_id=job_id,
            tick="" if ref is None else to_rfc3339(time_of(ref.key))[11:-1],
            state=state,
        )
        line = replace(self._lines.get(execution_id, fresh), state=state, reason=happening.about.get("reason", ""))
        if happening.name is not EventName.EXECUTION_CLAIMED:
            return line
        attempt = round(happening.measured["attempt"])
        lag_ms = round(happening.measured["startLagMs"]) if attempt == 1 else None
        return replace(line, attempt=attempt, lag_ms=lag_ms)

    def _show(self, execution_id: str, line: _Line) -> None:
        self._lines[execution_id] = line
        while len(self._lines) > _ROWS:
            self._lines.popitem(last=False)
        if self._live is not None:
            self._live.update(self._table())
        elif line.state not in {"queued", "running"}:
            self._console.print(
                "  ".join(cell.ljust(width) for cell, width in zip(line.cells(self.labels), _WIDTHS, strict=True))
            )

    def _table(self) -> Table:
        table = Table("tick (UTC)", "job", "attempt", "status", "lag", "reason", title="what fires", expand=False)
        for line in self._lines.values():
            table.add_row(*line.cells(self.labels), style=_COLOURS.get(line.state))
        return table

    def start(self) -> None:
        """Show the table from now on; on a pipe, a heading."""
        if self._console.is_terminal:
            self._live = Live(self._table(), console=self._console, refresh_per_second=4, transient=False)
            self._live.start()
        else:
            heading = ("tick (UTC)", "job", "attempt", "status", "lag", "reason")
            self._console.print("  ".join(cell.ljust(width) for cell, width in zip(heading, _WIDTHS, strict=True)))

    def stop(self) -> None:
        """Show no more."""
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, markup=False, soft_wrap=True)


_WIDTHS = (12, 14, 7, 10, 8, 13)
