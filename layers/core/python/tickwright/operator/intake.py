"""`intake move`: what another installation has accepted (202) and not landed is landed by this one.

`intake return`: what was set aside of a tenant that was being deleted is landed after all.

Must not know how a queue is read. Handbook: docs/recovery.md. Promises: SEM-INTAKE-1, SEM-TENANT-2.
"""

import json
import sys
from argparse import ArgumentParser, Namespace

from tickwright.domain.instants import to_rfc3339
from tickwright.operator.commands import Command
from tickwright.operator.deletions import is_being_deleted
from tickwright.operator.keys import add_tenant
from tickwright.services.move_intake import move_intake, return_to_intake
from tickwright.wiring.operator import Installed, intake_of, left_intake, set_aside_of

SOME_LEFT = 1
BEING_DELETED = WAS_DELETED = 1


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


async def _return(installed: Installed, asked: Namespace) -> int:
    """As `_move`; what was set aside of others, or for another reason, stays and is nobody's fault."""
    if await is_being_deleted(installed, asked.tenant):
        return BEING_DELETED
    if (deletion := await installed.whole.deletion(asked.tenant)) is not None:
        print(
            f"tickwright: {asked.tenant} was deleted, by a request of {to_rfc3339(deletion.asked_at)}: what it had "
            "submitted before is not landed for whoever has the name since",
            file=sys.stderr,
        )
        return WAS_DELETED
    done = await return_to_intake(set_aside_of(installed), intake_of(installed), asked.tenant)
    print(json.dumps({"returned": done.moved, "left": done.left}))
    return 0


COMMANDS = (
    Command(
        words=("intake", "move"),
        says="land here what another installation has accepted and not landed",
        arguments=_add_move,
        does=_move,
    ),
    Command(
        words=("intake", "return"),
        says="land what was set aside of a tenant whose deletion was called off",
        arguments=add_tenant,
        does=_return,
    ),
)
