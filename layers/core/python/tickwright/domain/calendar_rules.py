"""What a write makes of a tenant's calendar: a new version, the same one brought back, or nothing at all.

Must not know a store, nor who may write. Promise: SEM-CAL-4.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, FieldProblem, Refusal
from tickwright.domain.schedules import Calendar, CalendarContent, is_calendar_name

CALENDARS_OF_TENANT_MAX = 100  # they are read whole to be listed: some megabytes at most
NO_SUCH_CALENDAR = Refusal(code=Code.NOT_FOUND, detail="There is no such calendar; check its name.")
NO_SUCH_VERSION = Refusal(code=Code.NOT_FOUND, detail="There is no such version of a calendar; list its versions.")
CHANGED_MEANWHILE = Refusal(
    code=Code.VERSION_CONFLICT,
    detail="The calendar has been changed meanwhile; read it again and repeat the change on that.",
)
EXISTS = Refusal(
    code=Code.VERSION_CONFLICT,
    detail="The calendar exists already; leave If-None-Match out to make a new version of it.",
)
IS_ABSENT = Refusal(
    code=Code.VERSION_CONFLICT, detail="There is no such calendar, or it is retired; leave If-Match out to put it."
)
TOO_MANY = Refusal(
    code=Code.INVALID,
    detail=f"There are {CALENDARS_OF_TENANT_MAX} calendars, the most that a tenant may have; put one that exists anew.",
    errors=(FieldProblem(pointer="path:name", code="too_many", message="Use the name of a calendar that exists."),),
)
BAD_NAME = Refusal(
    code=Code.INVALID,
    detail="This cannot be the name of a calendar.",
    errors=(
        FieldProblem(
            pointer="path:name",
            code="bad_value",
            message="Use up to 64 letters, digits and . _ -, of which the first is a letter or a digit.",
        ),
    ),
)


class Presence(Enum):
    """What a put may demand of its calendar beside a version; a retired one is as one that is not there."""

    THERE = "there"
    ABSENT = "absent"


def unknown_refusal(names: Sequence[str], found: Mapping[str, Calendar], kept: Collection[str]) -> Refusal | None:
    """Why a schedule cannot name these calendars; those that the job has already (`kept`) may be retired."""
    errors = []
    for at, name in enumerate(names):
        calendar = found.get(name)
        if calendar is None or (calendar.retired and name not in kept):
            state = "does not exist" if calendar is None else "was retired"
            message = f"The calendar {name!r} {state}; put it with PUT /v1/calendars/{name}, or leave it out."
            pointer = f"/schedule/calendars/{at}"
            errors.append(FieldProblem(pointer=pointer, code="unknown_calendar", message=message))
    detail = "The schedule names a calendar that it cannot go by: see errors."
    return Refusal(code=Code.INVALID, detail=detail, errors=tuple(errors)) if errors else None


def put_refusal(seen: Calendar | None, name: str, demanded: int | Presence | None) -> Refusal | None:
    """Why a calendar cannot be put in place of what was seen; `demanded`: the version that it must have, if any."""
    if not is_calendar_name(name):
        return BAD_NAME
    is_there = seen is not None and not seen.retired
    match demanded:
        case None:
            return None
        case Presence.THERE:
            return None if is_there else IS_ABSENT
        case Presence.ABSENT:
            return EXISTS if is_there else None
        case version:
            return CHANGED_MEANWHILE if seen is None or seen.version != version else None


def retire_refusal(seen: Calendar | None, if_match: int | None) -> Refusal | None:
    """Why a calendar cannot be retired."""
    if seen is None or seen.retired:
        return NO_SUCH_CALENDAR
    return CHANGED_MEANWHILE if if_match is not None and seen.version != if_match else None


def first_version(tenant_id: TenantId, name: str, content: CalendarContent, *, now: Instant, token: str) -> Calendar:
    """A calendar under a name that never had one."""
    return Calendar(
        tenant_id=tenant_id, name=name, version=1, content=content, updated_at=now, retired=False, write_token=token
    )


def put_over(seen: Calendar, content: CalendarContent, *, now: Instant, token: str) -> Calendar:
    """What stands after a put; `seen` itself where nothing changes."""
    if seen.content != content:
        later = replace(seen, version=seen.version + 1, content=content, updated_at=now)
        return replace(later, retired=False, write_token=token)
    return replace(seen, retired=False, write_token=token) if seen.retired else seen


def retired(seen: Calendar, *, token: str) -> Calendar:
    """Off the list; its last version goes on judging the jobs that name it."""
    return replace(seen, retired=True, write_token=token)
