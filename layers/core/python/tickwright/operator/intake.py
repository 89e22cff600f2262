"""`intake move`: what another installation has accepted (202) and not landed is landed by this one.

Must not know how a queue is read. Handbook: docs/recovery.md. Promise: SEM-INTAKE-1.
"""

import json
from argparse import ArgumentParser, Namespace

from tickwright.operator.commands import Command
from tickwright.services.move_intake import move_intake
from tickwright.wiring.operator import Installed, intake_of, left_intake

SOME_LEFT = 1


def _add_move(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        required=True,
        metavar="URL",
        help="the queue QueueIntake, or QueueIntakeUndelivered, of an installation that runs no more",
    )


async def _move(installed: Installed, asked: Namespace) -> int:
    """Says what it did as one line of JSON; 1 where something was left that somebody should look at."""
    done = await move_intake(left_intake(installed, asked.source), intake_of(installed))
    print(json.dumps({"moved": done.moved, "left": done.left}))
    return SOME_LEFT if done.left else 0


COMMANDS = (
    Command(
        words=("intake", "move"),
        says="land here what another installation has accepted and not landed",
        arguments=_add_move,
        does=_move,
    ),
)
