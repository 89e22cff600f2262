"""`python -m tickwright.local`: the command line of the local program.

What is wrong with the machine is one clear line.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from tickwright.api.server import PortTaken
from tickwright.domain import limits
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.ids import Epoch
from tickwright.local.board import Board
from tickwright.local.program import FolderInUse, Options, run
from tickwright.wiring.embedded import StoreUnusable


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(
        prog="tickwright.local", description="Tickwright in one process on one SQLite file."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=_port, default=8080, help="port to listen on, 0 for a free one (default: %(default)s)"
    )
    parser.add_argument(
        "--data", type=Path, default=Path(".tickwright"), help="folder of the data (default: %(default)s)"
    )
    parser.add_argument("--no-demo", action="store_true", help="submit no demo jobs")
    parser.add_argument("--seconds", type=float, default=None, help="stop after so long (default: run until stopped)")
    parser.add_argument(
        "--scale",
        type=_scale,
        default=1.0,
        help="leases and whatever else the protocol waits for, at this part of their length (default: %(default)s)",
    )
    parser.add_argument(
        "--epoch-base",
        type=_era,
        default=FIRST_ERA,
        metavar="NUMBER",
        help="where leaseEpochs begin: for data that was restored to an earlier time (docs/recovery.md; default: 0)",
    )
    given = parser.parse_args(arguments)
    return Options(
        host=given.host,
        port=given.port,
        folder=given.data.resolve(),
        demo=not given.no_demo,
        seconds=given.seconds,
        scale=given.scale,
        era=given.epoch_base,
    )


def _port(text: str) -> int:
    """A port's number; argparse says the rest."""
    port = int(text)
    if not 0 <= port <= _PORT_MAX:
        raise ValueError
    return port


def _scale(text: str) -> float:
    """A part of one, not so small that the machine's own pauses are longer than a lease."""
    scale = float(text)
    if not _SCALE_MIN <= scale <= 1:
        raise ValueError
    return scale


def _era(text: str) -> Era:
    """What begins at this epoch."""
    base = int(text)
    if not 0 <= base <= limits.EPOCH_BASE_MAX:
        raise ValueError
    return Era(base=Epoch(base))


_PORT_MAX = 65_535
_SCALE_MIN = 0.02


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; the exit status is 2 if the machine does not allow it, 1 if another program runs there."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(run(_options(sys.argv[1:] if arguments is None else arguments), Board()))
    except FolderInUse as fault:
        print(f"tickwright: {fault}", file=sys.stderr)
        return 1
    except (StoreUnusable, PortTaken, OSError) as fault:
        print(f"tickwright: {fault}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
