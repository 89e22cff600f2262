"""The endpoints of calendars: put, get, list, retire, and their versions.

Must not know the rules: the services decide, here their outcomes become answers. Promises: SEM-CAL-1, SEM-CAL-4.
"""

from tickwright.api.bodies import Query
from tickwright.api.calendar_answers import (
    CalendarFieldsJson,
    CalendarJson,
    CalendarsJson,
    CalendarSummaryJson,
    CalendarVersionsJson,
)
from tickwright.api.calendar_bodies import CalendarBody
from tickwright.api.call import Call, created, shown
from tickwright.api.etags import ANY, etag_of, version_demanded
from tickwright.api.exchange import Request, Response, as_json, json_response
from tickwright.api.problems import Refused, granted, invalid, invalid_fields
from tickwright.domain.calendar_rules import NO_SUCH_VERSION, Presence
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.outcomes import FieldProblem
from tickwright.domain.schedules import Calendar, CalendarContent, CalendarRefused, read_calendar
from tickwright.services.calendars import (
    get_calendar,
    get_version,
    list_calendars,
    list_versions,
    put_calendar,
    retire_calendar,
)

_VERSION_DIGITS_MAX = 9


async def put(call: Call) -> Response:
    """PUT /v1/calendars/{name}."""
    name, content = call.params["name"], _content(call)
    done = granted(await put_calendar(call.kit, call.tenant_id, name, content, _demanded(call.request)))
    answer = calendar_json(done.calendar)
    return created(f"/v1/calendars/{name}", answer) if done.is_new else shown(answer)


def _demanded(request: Request) -> int | Presence | None:
    """What must be there: a version, anything (`If-Match: *`), nothing (`If-None-Match: *`), or whatever is."""
    match, none_match = request.header("if-match"), request.header("if-none-match")
    if none_match is None:
        return Presence.THERE if match is not None and match.strip() == ANY else version_demanded(request)
    if match is not None or none_match.strip() != ANY:
        raise invalid("header:If-None-Match", "bad_value", "A put takes If-None-Match: * alone, or If-Match.")
    return Presence.ABSENT


async def get(call: Call) -> Response:
    """GET /v1/calendars/{name}."""
    return shown(calendar_json(granted(await get_calendar(call.kit, call.tenant_id, call.params["name"]))))


async def retire(call: Call) -> Response:
    """DELETE /v1/calendars/{name}."""
    demanded = version_demanded(call.request)
    gone = granted(await retire_calendar(call.kit, call.tenant_id, call.params["name"], demanded))
    return shown(calendar_json(gone))


async def list_all(call: Call) -> Response:
    """GET /v1/calendars."""
    query = call.asked(Query)
    after_key = call.after_key(query.next_token)
    page = await list_calendars(call.kit, call.tenant_id, limit=query.limit, after_key=after_key)
    answer: CalendarsJson = {
        "calendars": [_summary_json(calendar) for calendar in page.items],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def list_all_versions(call: Call) -> Response:
    """GET /v1/calendars/{name}/versions."""
    query, name = call.asked(Query), call.params["name"]
    after_key = call.after_key(query.next_token)
    page = granted(await list_versions(call.kit, call.tenant_id, name, limit=query.limit, after_key=after_key))
    answer: CalendarVersionsJson = {
        "versions": [_summary_json(calendar) for calendar in page.items],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def get_one_version(call: Call) -> Response:
    """GET /v1/calendars/{name}/versions/{version}."""
    text = call.params["version"]
    if not (text.isascii() and text.isdigit() and len(text) <= _VERSION_DIGITS_MAX):
        raise Refused(NO_SUCH_VERSION)
    return shown(calendar_json(granted(await get_version(call.kit, call.tenant_id, call.params["name"], int(text)))))


def calendar_json(calendar: Calendar) -> CalendarJson:
    """A calendar, whole."""
    content = calendar.content
    answer: CalendarJson = {
        **_fields(calendar),
        "days": list(content.days),
        "weekdays": list(content.weekdays),
        "windows": [{"start": to_rfc3339(one.start), "end": to_rfc3339(one.end)} for one in content.windows],
        "retired": calendar.retired,
        "etag": "",
    }
    answer["etag"] = etag_of(as_json(answer), calendar.version)
    return answer


def _summary_json(calendar: Calendar) -> CalendarSummaryJson:
    content = calendar.content
    return {**_fields(calendar), "entries": len(content.days) + len(content.weekdays) + len(content.windows)}


def _fields(calendar: Calendar) -> CalendarFieldsJson:
    return {
        "name": calendar.name,
        "version": calendar.version,
        "updatedAt": to_rfc3339(calendar.updated_at),
        "type": calendar.content.kind.value,
        "timezone": calendar.content.timezone,
        "description": calendar.content.description,
    }


def _content(call: Call) -> CalendarContent:
    """The content that the body describes, or Refused with everything that must change."""
    try:
        return read_calendar(call.read(CalendarBody).model_dump(by_alias=True, exclude_unset=True))
    except CalendarRefused as refused:
        errors = (FieldProblem(pointer=one.pointer, code=one.code, message=one.message) for one in refused.errors)
        raise invalid_fields(tuple(errors)) from None
