"""What user code itself writes down about its attempts.

A line at the start, a line at the end, each on the disk before it goes on. Independent of the store, so that the
store can be judged by it. One file a process, opened for appending: a process that is killed leaves whole lines and
at most one that is cut off. The same files hold what a process says of itself: events and stalls.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.history import Attempt, Stall
from tickwright.domain.ids import parse_execution_id
from tickwright.domain.instants import from_datetime
from tickwright_sdk import Context

ATTEMPTS = "attempts"
EVENTS = "events"


class Diary:
    """One append-only file. `sure` waits for the disk at each line."""

    def __init__(self, path: Path, *, sure: bool) -> None:
        """Open or make it."""
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        self._sure = sure

    def note(self, line: Mapping[str, object]) -> None:
        """Append one line in one write, so that no two of them mix."""
        stamp = {"wallMs": time.time_ns() // 1_000_000, "monoNs": time.monotonic_ns()}
        os.write(self._file, json.dumps({**line, **stamp}, separators=(",", ":")).encode() + b"\n")
        if self._sure:
            os.fsync(self._file)


@dataclass(frozen=True, slots=True)
class Witness:
    """Writes the two lines of one attempt."""

    diary: Diary
    context: Context
    member: str

    def start(self, does: Mapping[str, Any]) -> None:
        """User code begins, with the payload that it was given."""
        deadline_ms = from_datetime(self.context.deadline)
        self.diary.note(
            {
                **self._about("start"),
                "attempt": self.context.attempt,
                "pid": os.getpid(),
                "version": does["version"],
                "scheduledMs": from_datetime(self.context.scheduled_time),
                "claimedMs": deadline_ms - does["timeoutMs"],
                "deadlineMs": deadline_ms,
            }
        )

    def end(self, outcome: str, mark: str | None = None) -> None:
        """User code is over; `mark` is in the result that it answers, if it succeeded."""
        self.diary.note({**self._about("end"), "outcome": outcome, "mark": mark})

    def _about(self, says: str) -> dict[str, object]:
        epoch = self.context.lease_epoch
        return {"says": says, "executionId": self.context.execution_id, "leaseEpoch": epoch, "member": self.member}


def read_attempts(folder: Path) -> list[Attempt]:
    """All attempts that left a start line, in the order of their starts."""
    begun: dict[tuple[str, int, str], dict[str, Any]] = {}
    ended: dict[tuple[str, int, str], dict[str, Any]] = {}
    for line in _lines(folder, ATTEMPTS):
        place = begun if line["says"] == "start" else ended
        place[line["executionId"], line["leaseEpoch"], line["member"]] = line
    attempts = [_attempt(start, ended.get(name)) for name, start in begun.items()]
    return sorted(attempts, key=lambda attempt: attempt.started_ns)


def _attempt(start: Mapping[str, Any], end: Mapping[str, Any] | None) -> Attempt:
    ref = parse_execution_id(start["executionId"])
    assert ref is not None
    return Attempt(
        ref=ref,
        epoch=start["leaseEpoch"],
        attempt=start["attempt"],
        member=start["member"],
        version=start["version"],
        scheduled_ms=start["scheduledMs"],
        claimed_ms=start["claimedMs"],
        deadline_ms=start["deadlineMs"],
        started_ms=start["wallMs"],
        started_ns=start["monoNs"],
        ended_ms=None if end is None else end["wallMs"],
        ended_ns=None if end is None else end["monoNs"],
        outcome=None if end is None else end["outcome"],
        mark=None if end is None else end["mark"],
    )


def read_stalls(folder: Path) -> list[Stall]:
    """When which process stood still, or waited long for the store, by its own clock."""
    return [
        Stall(member=line["member"], from_ms=line["fromMs"], until_ms=line["wallMs"])
        for line in _lines(folder, EVENTS)
        if line["event"] == "stalled"
    ]


def read_events(folder: Path) -> list[dict[str, Any]]:
    """All events of the product, of all processes."""
    return [line for line in _lines(folder, EVENTS) if line["event"] != "stalled"]


def _lines(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"*.{kind}.jsonl")):
        for text in path.read_text().splitlines():
            try:
                yield json.loads(text)
            except ValueError:
                continue  # cut off by a kill: what it would have said was never said
