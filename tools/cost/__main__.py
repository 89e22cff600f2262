"""`make cost EXECUTIONS=10000000`: what so many executions a day cost a month, beside what others ask.

    python -m tools.cost bill --executions 10000000 [--json] [--run-s 1] [--retries 0.02] ...
    python -m tools.cost write | check           the tables of docs/capacity.md
    python -m tools.cost note NAME COMMAND       keeps the line of a benchmark (standard input) in measured.json
    python -m tools.cost count STAGE             what a stage's templates make that is paid for by the month

All in US dollars of prices.py, and of the units that measured.json holds.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from infra.settings import settings_of
from tools.cost import measured, page, tables
from tools.cost.load import LAMBDA_RUN_S_MAX, Load, bill, total
from tools.cost.measured import Record
from tools.cost.prices import DATE, REGION
from tools.cost.rivals import rivals
from tools.cost.sizing import taken

# A thousand times the largest installation that was reckoned with; a day; what a job may ask for; what SQS hands out.
EXECUTIONS_MAX, DAY_S, ATTEMPTS_MAX, BATCH_MAX = 500_000_000_000, 86_400, 100, 10


def main(arguments: list[str]) -> int:
    """Do what is asked."""
    asked = _parser().parse_args(arguments)
    match asked.what:
        case "bill":
            return _bill(asked)
        case "write":
            page.PAGE.write_text(page.written(page.PAGE.read_text(encoding="utf-8"), measured.read()), encoding="utf-8")
            return 0
        case "check":
            return _check()
        case "note":
            return _note(asked.name, asked.command, json.loads(sys.stdin.read()))
        case _:
            return _count(asked.stage)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools.cost")
    what = parser.add_subparsers(dest="what", required=True)
    one = what.add_parser("bill", help="a month's bill")
    one.add_argument("--executions", type=_between(1, EXECUTIONS_MAX), required=True, help="a day: 10000000 or 1e7")
    usual = Load(executions_a_day=1)
    one.add_argument(
        "--run-s", type=_between(0, DAY_S), default=usual.run_s, help="how long a run takes (default: %(default)s)"
    )
    one.add_argument(
        "--retries",
        type=_between(0, ATTEMPTS_MAX),
        default=usual.retries,
        help="attempts more a run (default: %(default)s)",
    )
    one.add_argument("--utilisation", type=_between(0.01, 1), default=usual.utilisation, help="of what is provisioned")
    one.add_argument(
        "--batch",
        type=_between(1, BATCH_MAX),
        default=usual.batch,
        help="hints of an invocation (default: %(default)s)",
    )
    one.add_argument("--json", action="store_true", help="for programs")
    what.add_parser("write", help="write docs/capacity.md's tables again")
    what.add_parser("check", help="are they current?")
    note = what.add_parser("note", help="keep a measurement")
    note.add_argument("name")
    note.add_argument("command")
    what.add_parser("count", help="what stands").add_argument("stage")
    return parser


def _between(least: float, most: float) -> Callable[[str], float]:
    """What argparse asks of a number, which may be written with commas or an exponent."""

    def number(text: str) -> float:
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least:,} to {most:,}")
        return value

    return number


def _bill(asked: argparse.Namespace) -> int:
    record = measured.read()
    load = Load(
        executions_a_day=int(asked.executions),
        run_s=asked.run_s,
        retries=asked.retries,
        utilisation=asked.utilisation,
        batch=int(asked.batch),
    )
    loads = tables.variants(load.executions_a_day, of_load=load)
    if asked.json:
        print(json.dumps(_as_json(load, loads, record)))
        return 0
    print(f"{asked.executions:,} executions a day, US dollars a month, {REGION}, prices of {DATE}\n")
    print(tables.bills(loads, record), end="\n\n")
    print(tables.provisioned(load, record), end="\n\n")
    print(tables.others(load))
    if load.run_s > LAMBDA_RUN_S_MAX:
        print(f"\nAn attempt on Lambda ends after {LAMBDA_RUN_S_MAX} s: such runs have a bill on Fargate alone.")
    elif load.run_s < tables.FARGATE_RUN_S_MIN:
        print(
            f"\nThe columns of Fargate are of runs of {tables.FARGATE_RUN_S_MIN:g} s: what is shorter goes to Lambda."
        )
    print("\nAn idle installation costs besides: docs/capacity.md. What is supposed, and how sure each price is, too.")
    return 0


def _as_json(load: Load, loads: dict[str, Load], record: Record) -> dict[str, Any]:
    columns = {name: bill(each, record) for name, each in loads.items()}
    return {
        "executionsADay": load.executions_a_day,
        "region": REGION,
        "pricesOf": DATE,
        "bills": {
            name: {"dollarsAMonth": round(total(lines), 2), "lines": [asdict(line) for line in lines]}
            for name, lines in columns.items()
        },
        "provisioned": [asdict(each) for each in taken(load, record)],
        "others": [asdict(rival) for rival in rivals(load)],
    }


def _check() -> int:
    text = page.PAGE.read_text(encoding="utf-8")
    current = text == page.written(text, measured.read())
    print("docs/capacity.md is " + ("current" if current else "stale: run `make cost-tables`"))
    return 0 if current else 1


def _note(name: str, command: str, row: dict[str, Any]) -> int:
    """With the commit that was measured and its date: what is not committed was not measured."""
    commit, date = _git("log", "-1", "--format=%h %cs").split()
    rows = dict(measured.read().rows) if measured.FILE.exists() else {}
    rows[name] = {"command": command, "commit": commit, "date": date, **row}
    measured.FILE.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", encoding="utf-8")
    return 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _count(stage: str) -> int:
    """Synthesises: CDK is imported here, since nothing else needs it."""
    from tools.cost.standing import count  # noqa: PLC0415

    print(json.dumps({"stage": stage, "counts": count(settings_of(stage))}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
