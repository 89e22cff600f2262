"""Which records of an export may be imported, and how its jobs go on here.

Whoever wrote the lines may have changed any of them: what the API asks of a body is asked here too, and a head has from
its line only what moves; all else follows from its versions. Must not know a store. Promise: SEM-TENANT-4.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, assert_never

from tickwright.domain import limits
from tickwright.domain.exports import CalendarVersion, Closing, JobExport, Opening, Record
from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import TenantId, is_job_id
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.job_members import members_of
from tickwright.domain.job_rules import JobRefused, read_schedule, read_spec
from tickwright.domain.jobs import Definition, Head, JobSpec, JobStatus, reach_of
from tickwright.domain.lanes import bucket_of
from tickwright.domain.limits import STANDARD
from tickwright.domain.outcomes import FieldProblem
from tickwright.domain.pending import decided_through, with_plan
from tickwright.domain.pools import Pool
from tickwright.domain.schedules import (
    Calendar,
    CalendarContent,
    CalendarRefused,
    HashIdentity,
    compact,
    is_calendar_name,
    read_calendar,
)
from tickwright.domain.secrets import masked_places
from tickwright.domain.webhooks import FIRST, Rotation

_LATEST: Final = from_rfc3339("9000-01-01T00:00:00Z")
_EVER: Final = Instant(STANDARD.missed_after_ms)  # a schedule must have a tick after 1970, not one that is to come
_OF_MASKS: Final = frozenset({"masked_value", "leads_nowhere"})  # what is said of a job that lacks its secrets


# --- whether a record may be imported ----------------------------------------------------------------------------
def misfit(record: Record, tenant_id: TenantId) -> str | None:
    """Why a record is none of this tenant's, or none at all: it says nothing of what the record asks for."""
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
    if head.newest_version > len(versions) + limits.LOST_VERSIONS_MAX:
        return "its head counts versions that are not there"
    return None if export.is_whole else "it lacks the version it runs by"


def _anothers(owner: str, tenant_id: TenantId) -> str:
    return f"it is of the tenant {owner!r}, not of {tenant_id!r}"


# --- whether it asks for what it may -----------------------------------------------------------------------------
def unfit(record: Record) -> str | None:
    """Why a record of the right tenant asks for what the API would refuse; None: it may be imported."""
    match record:
        case Closing() | Opening():
            return None
        case Rotation():
            is_fit = FIRST < record.number <= limits.COUNT_MAX and _are_instants([record.rotated_at])
            return None if is_fit else "its number or its time is none"
        case Pool():
            is_fit = len(record.description or "") <= limits.DESCRIPTION_CHARS_MAX
            return None if is_fit else "its description is too long"
        case CalendarVersion():
            return _unfit_calendar(record.calendar)
        case JobExport():
            return _unfit_head(record.head) or next(filter(None, _unfit_versions(record)), None)
        case _:
            assert_never(record)


def _unfit_calendar(calendar: Calendar) -> str | None:
    if not is_calendar_name(calendar.name):
        return "its name is none of a calendar"
    if not 1 <= calendar.version <= limits.CALENDAR_VERSIONS_MAX or len(calendar.write_token) > limits.TAG_CHARS_MAX:
        return "its version or its token is none"
    if not _are_instants(
        [calendar.updated_at, *(at for one in calendar.content.windows for at in (one.start, one.end))]
    ):
        return "a time in it is none"
    try:
        is_same = read_calendar(_members(calendar.content)) == calendar.content
    except CalendarRefused as refused:
        return str(refused)
    return None if is_same else "its content is not as it would be kept"


def _members(content: CalendarContent) -> dict[str, object]:
    return {
        "type": content.kind.value,
        "timezone": content.timezone,
        "days": list(content.days),
        "weekdays": list(content.weekdays),
        "windows": [{"start": to_rfc3339(one.start), "end": to_rfc3339(one.end)} for one in content.windows],
        "description": content.description,
    }


def _unfit_head(head: Head) -> str | None:
    """What of it moves, and so follows from nothing else."""
    if not head.is_open:
        return "it is over"
    moments = (
        head.created_at, head.next_run_at, head.fired_through, head.passed_through, head.settled_through,
        head.paused_at, head.held, head.effective_from,
    )  # fmt: skip
    if not _are_instants(moments):
        return "a time of its head is none"
    counts = (head.version, head.definition_version, head.pending_version or 1, head.runs + 1)
    if not all(1 <= count <= limits.COUNT_MAX for count in counts) or len(head.tzdata) > limits.TAG_CHARS_MAX:
        return "a number of its head is none"
    return (
        None if (head.pending_version or limits.COUNT_MAX) > head.definition_version else "its edit has come before it"
    )


def _are_instants(moments: Iterable[Instant | None]) -> bool:
    return all(0 <= (moment or 0) <= _LATEST for moment in moments)


def _unfit_versions(export: JobExport) -> Iterator[str | None]:
    newest = max(export.definitions, key=lambda one: one.version)
    for one in export.definitions:
        if not _are_instants([one.created_at]) or not _are_pointers(one):
            yield f"version {one.version}: what it was kept with is none"
        yield _unfit_spec(one, hidden_in(one.version, newest))


def _are_pointers(definition: Definition) -> bool:
    named = definition.named_before
    are_short = all(len(pointer) <= limits.POINTER_CHARS_MAX for pointer, _ in named)
    return are_short and len(named) <= limits.SECRETS_EVER_MAX and all(last < definition.version for _, last in named)


def _unfit_spec(definition: Definition, hidden: Iterable[str]) -> str | None:
    """What the API would refuse, but for what the masks in it are the reason of; no value is told."""
    spec, identity = definition.spec, HashIdentity(definition.tenant_id, definition.job_id)
    errors: tuple[FieldProblem, ...] = ()
    try:
        read_spec(members_of(spec), identity=identity, now=_EVER)
    except JobRefused as refused:
        errors = refused.errors
    except (ValueError, RecursionError):
        return f"version {definition.version}: its payload is no JSON"
    places = masked_places(spec, hidden) if errors else []
    told = [f"{error.pointer} {error.code}" for error in errors if not _is_of_a_mask(error, places)]
    if told:
        return f"version {definition.version}: {', '.join(told)}"
    return None if _is_as_kept(spec, identity) else f"version {definition.version}: it is not kept as it would be"


def _is_as_kept(spec: JobSpec, identity: HashIdentity) -> bool:
    """Whether what is kept beside what the tenant wrote follows from that, and no text is longer than it need be."""
    schedule = read_schedule(spec.source, identity=identity, now=_EVER)
    kept = (spec.schedule, spec.payload, "type" in spec.target.settings)
    return kept == (compact(schedule), _as_kept(spec.payload), False)


def _as_kept(payload: str) -> str | None:
    try:
        return json.dumps(json.loads(payload), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN and its like are no JSON
        return None


def _is_of_a_mask(error: FieldProblem, places: Iterable[str]) -> bool:
    return error.code in _OF_MASKS or any(f"{error.pointer}/".startswith(f"{place}/") for place in places)


# --- how a job goes on -------------------------------------------------------------------------------------------
def imported_head(export: JobExport, *, buckets: int) -> Head:
    """The head as it begins here: due where it was, with nothing decided; paused where it cannot run.

    No execution came along, so the head must name none. Whatever was decided is settled, and is not decided again.
    """
    head, versions = export.head, {one.version: one for one in export.definitions}
    counts = [versions[head.definition_version], versions[head.newest_version]]
    new = replace(
        with_plan(head, counts[0]),
        pending_version=head.pending_version,
        effective_from=head.effective_from,
        reach_s=max(_reach_of(one.spec) for one in counts),
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


def _reach_of(spec: JobSpec) -> int:
    return reach_of(spec.run_deadline_s, spec.catch_up)
