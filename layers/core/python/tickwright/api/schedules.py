"""The endpoints of schedules: what one will do, and when a tenant's ticks fall together.

Must not know how ticks are found. Promises: SEM-SCHED-14, SEM-SCHED-20,
SEM-SCHED-21.
"""

from tickwright.api.answers import HerdJson, ZoneChangesJson
from tickwright.api.bodies import Query
from tickwright.api.call import Call, check_scope
from tickwright.api.exchange import Response, json_response
from tickwright.api.problems import granted, invalid
from tickwright.api.schedule_bodies import HerdQuery, PreviewBody
from tickwright.api.specs import read_moment, read_source
from tickwright.api.views import preview_json, zone_change_json
from tickwright.domain.herd import MINUTE_MS, SPAN_MS_MAX, Herd
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.schedules import tzdata_version
from tickwright.domain.tenants import Scope
from tickwright.services.herd import herd_map
from tickwright.services.herd_of_all import HerdOfAll, herd_of_all
from tickwright.services.named_calendars import calendars_named
from tickwright.services.preview import Question, preview_schedule
from tickwright.services.zone_changes import zone_changes


async def preview(call: Call) -> Response:
    """POST /v1/schedules/preview."""
    body = call.read(PreviewBody)
    start = call.kit.clock.now() if body.from_at is None else read_moment(body.from_at, "/from")
    schedule = read_source(call, body.schedule, start)
    question = Question(
        tenant_id=call.tenant_id,
        source=body.schedule,
        schedule=schedule,
        start=start,
        count=body.count,
        calendars=granted(await calendars_named(call.kit, call.tenant_id, schedule)),
    )
    return json_response(200, preview_json(preview_schedule(call.kit, call.api.second_engine, question)))


async def herd(call: Call) -> Response:
    """GET /v1/herd."""
    query = call.asked(HerdQuery)
    if query.scope == "all":
        check_scope(call.caller, Scope.ADMIN)
    since, until = _span(call, query)
    if query.scope == "all":
        return json_response(200, _herd_of_all_json(await herd_of_all(call.kit, since, until), since, until))
    found = await herd_map(call.kit, call.tenant_id, since, until)
    return json_response(200, _herd_json(found, since, until))


def _herd_of_all_json(found: HerdOfAll, since: Instant, until: Instant) -> HerdJson:
    return {
        **_herd_json(found.herd, since, until),
        "scope": "all",
        "estimated": found.buckets_read < found.buckets,
        "bucketsRead": found.buckets_read,
        "buckets": found.buckets,
    }


def _herd_json(found: Herd, since: Instant, until: Instant) -> HerdJson:
    return {
        "scope": "tenant",
        "fromMinute": to_rfc3339(since),
        "toMinute": to_rfc3339(until),
        "minutes": [{"at": to_rfc3339(minute), "ticks": found.minutes[minute]} for minute in sorted(found.minutes)],
        "jobs": found.jobs,
        "truncated": found.truncated,
        "estimated": False,
        "bucketsRead": None,
        "buckets": None,
    }


async def zones(call: Call) -> Response:
    """GET /v1/zone-changes."""
    query = call.asked(Query)
    after_key = call.after_key(query.next_token)
    page = await zone_changes(call.kit, call.tenant_id, limit=query.limit, after_key=after_key)
    answer: ZoneChangesJson = {
        "tzdataVersion": tzdata_version(),
        "changes": [zone_change_json(change) for change in page.items],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


def _span(call: Call, query: HerdQuery) -> tuple[Instant, Instant]:
    """Whole minutes, from now on."""
    this_minute = _minute(call.kit.clock.now())
    since = this_minute if query.from_at is None else _minute(read_moment(query.from_at, "query:from"))
    if since < this_minute:
        raise invalid("query:from", "in_the_past", "It is over; a job's executions tell what has been. Leave it out.")
    until = Instant(since + SPAN_MS_MAX) if query.to is None else _minute(read_moment(query.to, "query:to"))
    if not 0 < until - since <= SPAN_MS_MAX:
        raise invalid("query:to", "out_of_range", "Write an instant from a minute to a day after `from`.")
    return since, until


def _minute(instant: Instant) -> Instant:
    return Instant(instant - instant % MINUTE_MS)
