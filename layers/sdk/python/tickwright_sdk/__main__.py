"""Runs a worker of a module: `python -m tickwright_sdk billing.handlers:worker`.

The module is then imported as what it is, so that children find its handlers; the program itself they could not import.
"""

import logging
import sys
from pathlib import Path

from tickwright_sdk.loading import load
from tickwright_sdk.problems import WorkerRefused
from tickwright_sdk.worker import LOG_LINE, REFUSED, Worker

_USAGE = "usage: python -m tickwright_sdk module:worker"


def main(arguments: list[str]) -> int:
    """Work until told to stop; the exit status."""
    if len(arguments) != 1:
        return _say(_USAGE)
    name, _, at = arguments[0].partition(":")
    if not name or name.startswith("."):
        return _say(f"{arguments[0]!r} names no module. {_USAGE}")
    sys.path.insert(0, "")
    try:
        module = load(name)
    except WorkerRefused as refused:
        return _say(f"tickwright: {refused}")
    except ModuleNotFoundError as fault:
        if fault.name is None or not f"{name}.".startswith(f"{fault.name}."):
            raise  # something that the module itself imports: its trace says where
        return _say(f"There is no module {name!r} in {Path.cwd()} or on PYTHONPATH. {_USAGE}")
    worker = getattr(module, at or "worker", None)
    if not isinstance(worker, Worker):
        return _say(f"{arguments[0]!r} is no Worker. {_USAGE}")
    logging.basicConfig(level=logging.INFO, format=LOG_LINE, stream=sys.stdout)
    worker.run()
    return 0


def _say(what: str) -> int:
    sys.stderr.write(f"{what}\n")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
