"""`python -m tests.chaos`: a minute of kills and freezes, then a count of what was promised against what was done.

SEED (drawn if absent), SECONDS (54), PLANT (a bug to put in) and KEEP=1 come from the environment or as NAME=value.
Progress goes to stderr; the last line of stdout is JSON. Exit status: 0 without violations, 1 with, 2 if the run
itself could not be made.
"""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos import plants
from tests.chaos.show import Options, perform, summary


def options(arguments: list[str]) -> Options:
    """What was asked for."""
    given = {**os.environ, **dict(argument.partition("=")[::2] for argument in arguments)}
    plant = given.get("PLANT", "")
    if plant and plant not in plants.PLANTS:
        raise SystemExit(f"PLANT={plant} is none of {', '.join(plants.PLANTS)}")
    return Options(
        seed=int(given.get("SEED") or secrets.randbelow(1_000_000)),
        seconds=max(20, int(given.get("SECONDS") or 54)),
        plant=plant,
        keep=bool(given.get("KEEP")),
    )


def main() -> int:
    """One run, its count, and its folder if somebody must look at it."""
    asked = options(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="tickwright-chaos-"))
    print(f"chaos: SEED={asked.seed} SECONDS={asked.seconds} PLANT={asked.plant}", file=sys.stderr)
    result = None
    try:
        result = asyncio.run(perform(asked, folder))
    except TimeoutError:
        print("chaos: the run did not end in time and was broken off", file=sys.stderr)
    except KeyboardInterrupt:
        print("chaos: broken off", file=sys.stderr)
    finally:
        passed = result is not None and not result.violations
        if passed and not asked.keep:
            shutil.rmtree(folder)
        else:
            print(f"chaos: the store and all diaries are kept in {folder}", file=sys.stderr)
    if result is None:
        return 2
    for violation in result.violations[:40]:
        print(f"chaos: {violation.name} [{violation.job}] {violation.detail}", file=sys.stderr)
    print(json.dumps(summary(asked, result)))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
