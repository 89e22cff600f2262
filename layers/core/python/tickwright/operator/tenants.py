"""`tenants list`, `export`, `import`, `delete`, `undelete`: whole tenants, out of an installation or into one.

An export is lines of JSON on standard output, an import reads them from standard input, and both may be repeated. Must
not know how a record is kept. Handbook: docs/recovery.md. Promises: SEM-TENANT-2, SEM-TENANT-4.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter

from tickwright.domain.exports import Closing, Opening, Record
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.imports import misfit, unfit
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.operator.commands import Command
from tickwright.operator.deletions import is_being_deleted
from tickwright.operator.keys import add_tenant, told_unreadable
from tickwright.services.call_off_deletion import CalledOff, call_off
from tickwright.services.delete_tenant import Progress, Stage, delete_tenant
from tickwright.services.export_tenant import export_tenant
from tickwright.services.import_tenant import Imported, import_record
from tickwright.services.tenants import Known, tenants_of
from tickwright.wiring.operator import Installed, line_of, record_of

LEFT_OUT = 1  # of an export: a job; of an import: something was not made, or the export had no end
COME_AGAIN = 3  # of a deletion that was not to wait


# --- list --------------------------------------------------------------------------------------------------------
def _add_list(parser: ArgumentParser) -> None:
    parser.epilog = (
        "A line a tenant: its name; there, being_deleted or deleted; how many keys it has, how many of them are valid, "
        "when the first was made; since when it is being deleted, or was. Reads the whole table Control."
    )


async def _list(installed: Installed, _asked: Namespace) -> int:
    found = await tenants_of(installed.kit, installed.whole)
    for _, known in sorted(found.known.items()):
        print(_standing(known))
    return told_unreadable(found.unreadable)


def _standing(known: Known) -> str:
    deletion = known.deletion
    first, since = known.first_key_at, None if deletion is None else deletion.ended_at or deletion.asked_at
    instants = ("-" if one is None else to_rfc3339(one) for one in (first, since))
    return "  ".join((known.tenant_id, known.standing.value, str(known.keys), str(known.valid), *instants))


# --- export ------------------------------------------------------------------------------------------------------
def _add_export(parser: ArgumentParser) -> None:
    add_tenant(parser)
    parser.add_argument(
        "--with-secrets",
        action="store_true",
        help="write values that are secret as they are: pipe the lines into what encrypts them (default: masks)",
    )


async def _export(installed: Installed, asked: Namespace) -> int:
    lost: list[JobId] = []
    async for record in export_tenant(installed.kit, asked.tenant, with_secrets=asked.with_secrets, lost=lost):
        print(line_of(record))
    for job_id in lost:
        print(f"tickwright: the job {job_id} is left out: its definition was lost in a recovery", file=sys.stderr)
    return LEFT_OUT if lost else 0


# --- import ------------------------------------------------------------------------------------------------------
def _add_import(parser: ArgumentParser) -> None:
    add_tenant(parser)
    parser.epilog = "Reads the lines of an export from standard input."


async def _import(installed: Installed, asked: Namespace) -> int:
    """One line after the other; a line that is none of this tenant's ends it, and what was made before it stays."""
    came: Counter[str] = Counter()
    is_whole, is_complete = False, True
    for number, line in enumerate(sys.stdin, 1):
        if await is_being_deleted(installed, asked.tenant):
            return LEFT_OUT
        try:
            record = _read(line, number, asked.tenant)
        except ValueError as fault:
            print(f"tickwright: line {number} was not imported: {str(fault)[:300]}", file=sys.stderr)
            is_whole = False
            break
        is_whole = isinstance(record, Closing)
        if (made := await import_record(installed.kit, asked.tenant, record)) is not None:
            came[made.value] += 1
            is_complete &= made in {Imported.MADE, Imported.THERE, Imported.PAUSED}
            if made not in {Imported.MADE, Imported.THERE}:
                why = f" ({str(unfit(record))[:300]})" if made is Imported.UNFIT else ""
                print(f"line {number}: {made.value}{why}", file=sys.stderr)
    if await is_being_deleted(installed, asked.tenant):
        return LEFT_OUT
    print("; ".join(f"{count} {what}" for what, count in sorted(came.items())) or "nothing was imported")
    if not is_whole:
        print("tickwright: the export has no end: it was cut off; repeat it, and the import", file=sys.stderr)
    return 0 if is_whole and is_complete else LEFT_OUT


def _read(line: str, number: int, tenant_id: TenantId) -> Record:
    """The record of a line in its place; ValueError says why it may not be imported."""
    record = record_of(line)
    if (why := misfit(record, tenant_id)) is not None:
        raise ValueError(why)
    if isinstance(record, Opening) is not (number == 1):
        raise ValueError("an export begins with the line of its tenant, and has one alone")
    if isinstance(record, Closing) and record.records != number - 1:
        raise ValueError(f"the export had {record.records} lines before its end, and {number - 1} came")
    return record


# --- delete ------------------------------------------------------------------------------------------------------
def _add_delete(parser: ArgumentParser) -> None:
    add_tenant(parser)
    parser.add_argument(
        "--really", required=True, metavar="TENANT", help="the tenant once more: nothing brings it back"
    )
    parser.add_argument(
        "--no-wait", action="store_true", help="end where it has to be waited for, instead of waiting (exit status 3)"
    )
    parser.add_argument(
        "--again", action="store_true", help="a tenant of this name was deleted: delete whoever has it since, too"
    )


def _named_in_two_ways(asked: Namespace) -> str | None:
    if asked.really == asked.tenant:
        return None
    return f"--really says {asked.really}, --tenant {asked.tenant}: nothing was done"


async def _delete(installed: Installed, asked: Namespace) -> int:
    begun: Instant | None = None
    while True:
        last = await _deleted_as_far_as_may_be(installed, asked, begun)
        begun = last.asked_at
        if begun is None:
            return _was_deleted_before(asked.tenant)
        if last.until is None:
            return 0
        if asked.no_wait:
            return COME_AGAIN
        await installed.kit.clock.sleep_until(last.until)


async def _deleted_as_far_as_may_be(installed: Installed, asked: Namespace, begun: Instant | None) -> Progress:
    last = Progress(stage=Stage.STOPPING)
    async for progress in delete_tenant(
        installed.kit, installed.whole, asked.tenant, asked_at=begun, again=asked.again
    ):
        if progress.stage is not last.stage:
            print(_told(last))
        last = progress
    if last.asked_at is not None:
        print(_told(last))
    return last


def _was_deleted_before(tenant_id: TenantId) -> int:
    print(
        f"tickwright: a tenant {tenant_id} was deleted before; whoever has the name since is another one: nothing was "
        "done. Say --again to delete that one as well",
        file=sys.stderr,
    )
    return LEFT_OUT


def _told(progress: Progress) -> str:
    """One line: what was done, and when to come again."""
    done = (
        f"{progress.keys} keys revoked, {progress.jobs} jobs and orders were not still, "
        f"{progress.jobs_removed} jobs, {progress.rows} executions and {progress.records} records removed"
    )
    again = "" if progress.until is None else f"; goes on at {to_rfc3339(progress.until)}"
    return f"{progress.stage.value}: {done}{again}"


# --- undelete ----------------------------------------------------------------------------------------------------
async def _undelete(installed: Installed, asked: Namespace) -> int:
    came = await call_off(installed.whole, asked.tenant)
    if came is CalledOff.DONE:
        print(
            f"{asked.tenant} is not deleted: all is there, and what was stopped (keys, jobs, pools) stays so. What an "
            "intake had accepted of it and was set aside meanwhile lands by `intake return`"
        )
        return 0
    print(f"tickwright: {asked.tenant}: {came.value}; nothing was done", file=sys.stderr)
    return LEFT_OUT


COMMANDS = (
    Command(words=("tenants", "list"), says="show all tenants", arguments=_add_list, does=_list),
    Command(words=("tenants", "export"), says="write a tenant as lines of JSON", arguments=_add_export, does=_export),
    Command(words=("tenants", "import"), says="make what an export has", arguments=_add_import, does=_import),
    Command(
        words=("tenants", "delete"),
        says="stop a tenant and remove it",
        arguments=_add_delete,
        does=_delete,
        misfit=_named_in_two_ways,
    ),
    Command(words=("tenants", "undelete"), says="call a deletion off", arguments=add_tenant, does=_undelete),
)
