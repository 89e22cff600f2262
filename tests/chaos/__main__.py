"""`python -m tests.chaos`: a minute of kills and freezes, then a count of what was promised against what was done.

STORE (embedded, aws, or both, one after the other), SEED (drawn if absent), SECONDS (54), PLANT (a bug to put in) and
KEEP=1 come from the environment or as NAME=value. Progress goes to stderr; for each store a line of JSON goes to
stdout. Exit status: 0 without violations, 1 with, 2 if a run itself could not be made.
"""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.chaos import plants
from tests.chaos.aws_ground import missing
from tests.chaos.grounds import Kind as Store
from tests.chaos.show import Options, Result, perform, summary

BOTH = "both"


def options(arguments: list[str]) -> list[Options]:
    """What was asked for: a run for each store."""
    given = {**os.environ, **dict(argument.partition("=")[::2] for argument in arguments)}
    plant, store = given.get("PLANT", ""), given.get("STORE") or Store.EMBEDDED.value
    stores = list(Store) if store == BOTH else [one for one in Store if one.value == store]
    if not stores:
        raise SystemExit(f"STORE={store} is none of {', '.join(one.value for one in Store)}, {BOTH}")
    if plant and plant not in plants.PLANTS:
        raise SystemExit(f"PLANT={plant} is none of {', '.join(plants.PLANTS)}")
    if plant in plants.NOT_ON_AWS and Store.AWS in stores:
        raise SystemExit(f"PLANT={plant} changes nothing with STORE=aws")
    asked = Options(
        seed=int(given.get("SEED") or secrets.randbelow(1_000_000)),
        seconds=max(20, int(given.get("SECONDS") or 54)),
        plant=plant,
        keep=bool(given.get("KEEP")),
    )
    return [replace(asked, store=one) for one in stores]


def main() -> int:
    """The runs one after the other; the worst of their statuses."""
    asked = options(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if any(one.store is Store.AWS for one in asked) and (lack := missing()) is not None:
        print(f"chaos: {lack}", file=sys.stderr)
        return 2
    return max(run(one) for one in asked)


def run(asked: Options) -> int:
    """One run, its count, and its folder if somebody must look at it."""
    folder = Path(tempfile.mkdtemp(prefix="tickwright-chaos-"))
    told = f"STORE={asked.store.value} SEED={asked.seed} SECONDS={asked.seconds} PLANT={asked.plant}"
    print(f"chaos: {told}", file=sys.stderr)
    result = _performed(asked, folder)
    passed = result is not None and not result.violations
    if passed and not asked.keep:
        shutil.rmtree(folder)
    else:
        print(f"chaos: the store and all diaries are kept in {folder}", file=sys.stderr)
    if result is None:
        return 2
    for violation in result.violations[:40]:
        print(f"chaos: {violation.name} [{violation.job}] {violation.detail}", file=sys.stderr)
    print(json.dumps(summary(asked, result)), flush=True)
    return 0 if passed else 1


def _performed(asked: Options, folder: Path) -> Result | None:
    try:
        return asyncio.run(perform(asked, folder))
    except TimeoutError:
        print("chaos: the run did not end in time and was broken off", file=sys.stderr)
    except KeyboardInterrupt:
        print("chaos: broken off", file=sys.stderr)
    return None


if __name__ == "__main__":
    sys.exit(main())
