"""Runs a worker of a module: `python -m tickwright_sdk billing.handlers:worker`.

The module is then imported as what it is, so that children find its handlers; the program itself they could not import.
"""

import importlib
import logging
import sys

from tickwright_sdk.worker import Worker

_USAGE = "usage: python -m tickwright_sdk module:worker"
_REFUSED = 2  # the exit status of a command that cannot be


def main(arguments: list[str]) -> int:
    """Work until told to stop; the exit status."""
    if len(arguments) != 1:
        return _say(_USAGE)
    name, _, at = arguments[0].partition(":")
    sys.path.insert(0, "")
    worker = getattr(importlib.import_module(name), at or "worker", None)
    if not isinstance(worker, Worker):
        return _say(f"{arguments[0]!r} is no Worker. {_USAGE}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    worker.run()
    return 0


def _say(what: str) -> int:
    sys.stderr.write(f"{what}\n")
    return _REFUSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
