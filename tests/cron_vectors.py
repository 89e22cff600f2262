"""Replays recorded cron answers: `python -m tests.cron_vectors [FILE ...]`, exit status 1 on any difference.

A file holds one case a line: either an expression with its next ticks in a zone, or an expression with whether it must
be accepted. Without a file both committed ones are replayed.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tickwright.domain.schedules.cron import next_times, validate

DATA = Path(__file__).parent / "data" / "cron"
FILES = (DATA / "vectors.jsonl", DATA / "validity.jsonl")
_SHOWN_MAX = 20
# A row cannot hold a megabyte of text, so two of them say how it is made.
_BUILT = {"0": ",".join(["0-59/1"] * 5_000) + " * * * *", "*": "*" + " " * 200_000 + "* * * *"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one case asked for and what came."""

    case: str
    kind: str
    text: str
    wanted: object
    got: object

    @property
    def passed(self) -> bool:
        return self.wanted == self.got


def replay(path: Path) -> Iterator[Answer]:
    """Every case of a file with our answer."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            yield _ticks(case) if "expected_utc" in case else _validity(case)


def _ticks(case: dict[str, Any]) -> Answer:
    wanted = case["expected_utc"]
    try:
        found = next_times(case["expr"], case["tz"], datetime.fromisoformat(case["start"]), len(wanted))
        got: object = [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in found]
    except ValueError as refusal:
        got = str(refusal)
    return Answer(case["id"], case["category"], f"{case['expr']} {case['tz']} from {case['start']}", wanted, got)


def _validity(case: dict[str, Any]) -> Answer:
    text = _BUILT[case["expr"][0]] if "build" in case else case["expr"]
    # Ours is a refusal at creation for what never fires.
    return Answer(case["id"], case["kind"], repr(text[:60]), case["expect"] == "accept", validate(text))


def main(arguments: list[str]) -> int:
    """Print what differs, the figures by kind, and the sum."""
    paths = list(map(Path, arguments)) or list(FILES)
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        sys.stderr.write(f"no such file: {', '.join(missing)}\n")
        return 2
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for answer in (answer for path in paths for answer in replay(path)):
        (passed if answer.passed else failed)[answer.kind] += 1
        if not answer.passed and failed.total() <= _SHOWN_MAX:
            _say(f"DIFFERS {answer.case} {answer.kind} {answer.text}")
            _say(f"  wanted {answer.wanted}\n  got    {answer.got}")
    for kind in sorted(passed | failed):
        _say(f"{kind:18s} passed {passed[kind]:5d}  failed {failed[kind]:5d}")
    _say(f"{passed.total()} passed, {failed.total()} failed")
    return 1 if failed or not passed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
