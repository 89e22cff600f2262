"""`recovery relist`, `recovery deleted`: after an installation was set up on a copy of tables.

Must not know how anything is looked for. Handbook: docs/recovery.md. Promise: SEM-RECOVERY-1.
"""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.operator.commands import Command
from tickwright.services.relist import deleted_since, relist
from tickwright.wiring.operator import Installed
from tickwright.wiring.operator import installed as found_at

BASE_TOO_LOW = 1
SOME_STAND_AGAIN = 1


def instant(text: str) -> Instant:
    """An instant in RFC 3339."""
    try:
        return from_rfc3339(text)
    except ValueError as fault:
        raise ArgumentTypeError(str(fault)) from fault


def _add_relist(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--restored-to",
        type=instant,
        required=True,
        metavar="INSTANT",
        help="the instant that the copy is of, such as 2026-11-30T12:00:00Z; of a Region's copy, when that was lost",
    )


async def _relist(installed: Installed, asked: Namespace) -> int:
    """Says what it found as one line of JSON."""
    found = await relist(installed.kit, installed.whole, asked.restored_to)
    base = installed.kit.era.base
    told = {
        "executions": found.executions,
        "unfinished": found.unfinished,
        "jobs": found.heads,
        "decidedWithoutExecution": found.decided,
        "jobsWithoutTheirVersion": found.incomplete,
        "unreadableRows": found.unreadable,
        "pools": found.pools,
        "pages": found.pages,
        "highestEpoch": found.highest_epoch,
        "epochBase": base,
        "tenants": sorted(found.tenants),
    }
    print(json.dumps(told))
    if found.highest_epoch <= base:
        return 0
    print(
        f"tickwright: leaseEpoch {found.highest_epoch} lies above the epoch base {base}: this installation has claimed "
        "already, or its base is too low for the one it was copied from (docs/recovery.md)",
        file=sys.stderr,
    )
    return BASE_TOO_LOW


def _add_deleted(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--old-stage",
        required=True,
        metavar="STAGE",
        help="the installation that the copy was made of, in this account and region",
    )


async def _deleted(installed: Installed, asked: Namespace) -> int:
    """A line for each tenant that is to be deleted here; 1 where there is one."""
    there = await deleted_since(installed.whole, found_at(asked.old_stage).whole)
    for tenant_id in there:
        print(tenant_id)
    return SOME_STAND_AGAIN if there else 0


COMMANDS = (
    Command(
        words=("recovery", "relist"),
        says="put on the journal again what a copy of tables has unfinished",
        arguments=_add_relist,
        does=_relist,
    ),
    Command(
        words=("recovery", "deleted"),
        says="name the tenants that stand again here and were deleted in the installation before",
        arguments=_add_deleted,
        does=_deleted,
    ),
)
