"""What of a tenant is exported, and how its jobs go on where they are imported.

Not its history, its requests and its API keys: those are made anew. Must not know how a record is written down.
Promise: SEM-TENANT-4.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import TenantId, is_job_id
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, Head, JobStatus
from tickwright.domain.lanes import bucket_of
from tickwright.domain.pending import decided_through
from tickwright.domain.pools import Pool
from tickwright.domain.schedules import Calendar
from tickwright.domain.secrets import masked
from tickwright.domain.webhooks import Rotation

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first record: whose export it is, and in which form."""

    tenant_id: TenantId
    exported_at: Instant
    form: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarVersion:
    """A version of a calendar, the oldest first; the last is what stands."""

    calendar: Calendar
    stands: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExport:
    """An open job with all its versions. `lacks_secrets`: values that it runs with were left out."""

    head: Head
    definitions: tuple[Definition, ...]
    lacks_secrets: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the versions are there that it runs by, now and next: a copy of tables may lack one."""
        return {self.head.definition_version, self.head.newest_version} <= {one.version for one in self.definitions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The last record: how many stand before it. An export without one was cut off."""

    records: int


Record = Opening | CalendarVersion | Pool | Rotation | JobExport | Closing


def misfit(record: Record, tenant_id: TenantId) -> str | None:
    """Why a record is none of this tenant's: whoever wrote the lines may have changed any of them."""
    match record:
        case Closing():
            return None
        case JobExport():
            return _misfit_of_job(record, tenant_id)
        case CalendarVersion():
            owner = record.calendar.tenant_id
        case Opening() | Pool() | Rotation():
            owner = record.tenant_id
        case _:
            assert_never(record)
    return None if owner == tenant_id else _anothers(owner, tenant_id)


def _misfit_of_job(export: JobExport, tenant_id: TenantId) -> str | None:
    """A head and versions of one job, those among them that it runs by."""
    head, versions = export.head, {one.version for one in export.definitions}
    owners = {head.tenant_id, *(one.tenant_id for one in export.definitions)}
    if owners != {tenant_id}:
        return _anothers(min(owners - {tenant_id}), tenant_id)
    if not is_job_id(head.job_id):
        return "its jobId is none"
    if any(one.job_id != head.job_id for one in export.definitions):
        return "a version in it is another job's"
    if len(versions) < len(export.definitions) or not all(1 <= one <= head.newest_version for one in versions):
        return "its versions are not those that its head counts"
    return None if export.is_whole else "it lacks the version it runs by"


def _anothers(owner: str, tenant_id: TenantId) -> str:
    return f"it is of the tenant {owner!r}, not of {tenant_id!r}"


def without_secret_values(export: JobExport) -> JobExport:
    """The same with masks in place of what any version of the job, up to its last, calls secret."""
    newest = export.definitions[-1]
    shown = tuple(replace(one, spec=masked(one.spec, hidden_in(one.version, newest))) for one in export.definitions)
    counts = {export.head.definition_version, export.head.newest_version}
    lacks = any(one != was and one.version in counts for one, was in zip(shown, export.definitions, strict=True))
    return replace(export, definitions=shown, lacks_secrets=lacks)


def imported_head(export: JobExport, *, buckets: int) -> Head:
    """The head as it begins here: due where it was, with nothing decided; paused where it cannot run.

    No execution came along, so the head must name none. Whatever was decided is settled, and is not decided again.
    """
    head = export.head
    new = replace(
        head,
        fired_through=None,
        fired_version=None,
        fired_at=None,
        fired_as=None,
        settled_through=decided_through(head) or None,
        active=None,
        waiting=0,
        reopened=None,
        bucket=None if head.next_run_at is None else bucket_of(head.job_id, buckets),
        write_token=head.job_id,
    )
    if not export.lacks_secrets or head.next_run_at is None:
        return new
    before = Instant(head.next_run_at - 1)
    return replace(new, status=JobStatus.PAUSED, bucket=None, next_run_at=None, paused_at=before)
