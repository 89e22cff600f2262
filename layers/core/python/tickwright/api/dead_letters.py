"""The endpoints of dead letters: list, group, look at, redrive many, discard, run again with another payload.

Must not know the rules: the services decide, here their outcomes become answers. Promises: SEM-DLQ-1 to SEM-DLQ-3.
"""

import json

from tickwright.api.call import Call, created, shown
from tickwright.api.dead_letter_answers import (
    DeadGroupsJson,
    DeadLettersJson,
    DiscardedJson,
    DiscardOutcomeJson,
    RedriveOrdersJson,
)
from tickwright.api.dead_letter_bodies import (
    DeadLettersQuery,
    DiscardBody,
    GroupsQuery,
    RedriveOrderBody,
    RerunBody,
    Wanted,
)
from tickwright.api.dead_letter_views import (
    dead_group_json,
    dead_letter_json,
    dead_letter_summary_json,
    dry_run_json,
    order_json,
)
from tickwright.api.exchange import Response, json_response
from tickwright.api.idempotency import optional_key, required_key
from tickwright.api.merge_patch import merged
from tickwright.api.problems import granted, invalid, invalid_fields, problem
from tickwright.api.specs import read_moment
from tickwright.api.views import execution_json
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Refusal
from tickwright.domain.redrive_orders import Canary
from tickwright.services.dead_letters import count_dead, discard_each, discard_found, group_dead, inspect, list_dead
from tickwright.services.redrive_orders import Ordered, cancel_order, get_order, list_orders, order_redrive
from tickwright.services.rerun import Edited, given_to, payload_problems, rerun
from tickwright.services.shown import as_listed, as_shown

_FOUND, _BODY = "query:", "/filter/"


async def list_all(call: Call) -> Response:
    """GET /v1/dead-letters."""
    query = call.asked(DeadLettersQuery)
    wanted, after_key = _wanted(query, _FOUND), call.after_key(query.next_token)
    page = await list_dead(call.kit, call.tenant_id, wanted, limit=query.limit, after_key=after_key)
    answer: DeadLettersJson = {
        "deadLetters": [dead_letter_summary_json(letter) for letter in await as_listed(call.kit, page.items)],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def list_groups(call: Call) -> Response:
    """GET /v1/dead-letters/groups."""
    query = call.asked(GroupsQuery)
    found = await group_dead(call.kit, call.tenant_id, _wanted(query, _FOUND), limit=query.limit)
    answer: DeadGroupsJson = {
        "groups": [dead_group_json(group) for group in found.groups],
        "groupsInAll": found.in_all,
        "exact": found.exact,
    }
    return json_response(200, answer)


async def get(call: Call) -> Response:
    """GET /v1/dead-letters/{executionId}."""
    letter = granted(await inspect(call.kit, call.tenant_id, call.params["executionId"]))
    return json_response(200, dead_letter_json(letter))


async def order(call: Call) -> Response:
    """POST /v1/dead-letters/redrives."""
    body = call.read(RedriveOrderBody)
    wanted = _meant(body)
    if body.only_count:
        return await _counted(call, wanted)
    request = required_key(call.request, call.value)
    canary = body.canary
    ordered = Ordered(
        wanted=wanted,
        rate_per_min=body.rate_per_min,
        canary=None if canary is None else Canary(first=canary.first, failures_max=canary.failures_max),
    )
    return json_response(202, order_json(granted(await order_redrive(call.kit, call.tenant_id, ordered, request))))


async def list_all_orders(call: Call) -> Response:
    """GET /v1/dead-letters/redrives."""
    answer: RedriveOrdersJson = {"orders": [order_json(one) for one in await list_orders(call.kit, call.tenant_id)]}
    return json_response(200, answer)


async def get_one_order(call: Call) -> Response:
    """GET /v1/dead-letters/redrives/{orderId}."""
    return shown(order_json(granted(await get_order(call.kit, call.tenant_id, call.params["orderId"]))))


async def cancel_one_order(call: Call) -> Response:
    """POST /v1/dead-letters/redrives/{orderId}/cancel."""
    return shown(order_json(granted(await cancel_order(call.kit, call.tenant_id, call.params["orderId"]))))


async def discard(call: Call) -> Response:
    """POST /v1/dead-letters/discard."""
    body = call.read(DiscardBody)
    if (body.execution_ids is None) == (body.filter is None and not body.everything):
        raise invalid("/executionIds", "one_of_two", "Send either executionIds or filter (or all), and not both.")
    if body.execution_ids is None:
        return await _discard_found(call, body)
    if body.only_count:
        raise invalid("/dryRun", "not_with_names", "What is named need not be counted; leave dryRun out.")
    named = await discard_each(call.kit, call.tenant_id, list(dict.fromkeys(body.execution_ids)), _said_why(body))
    outcomes = [_outcome(call, name, outcome) for name, outcome in named.items()]
    refused = sum("problem" in outcome for outcome in outcomes)
    return _discarded(len(outcomes) - refused, refused, outcomes=outcomes)


async def _discard_found(call: Call, body: DiscardBody) -> Response:
    wanted = _meant(body)
    if body.only_count:
        return await _counted(call, wanted)
    done = await discard_found(call.kit, call.tenant_id, wanted, _said_why(body))
    return _discarded(done.discarded, done.refused, more=not done.exact)


def _said_why(body: DiscardBody) -> str:
    if body.reason is None:
        raise invalid("/reason", "missing", "It is required, but for a dry run; say why they are given up.")
    return body.reason


async def _counted(call: Call, wanted: DeadFilter) -> Response:
    """A dry run."""
    return json_response(200, dry_run_json(await count_dead(call.kit, call.tenant_id, wanted)))


def _meant(body: RedriveOrderBody | DiscardBody) -> DeadFilter:
    """What a bulk request means; a filter whose members were forgotten would move all that has died."""
    wanted = DeadFilter() if body.filter is None else _wanted(body.filter, _BODY)
    if body.everything and wanted != DeadFilter():
        raise invalid("/all", "one_of_two", "It means everything, and filter does not; send one of them.")
    if not body.everything and body.filter is None:
        raise invalid("/filter", "missing", 'It is required; say which are meant, or send "all": true.')
    if not body.everything and wanted == DeadFilter():
        remedy = 'It is empty and would mean everything; say which, such as {"until": "2026-12-01T00:00:00Z"}, or send '
        raise invalid("/filter", "empty", remedy + '"all": true.')
    return wanted


def _outcome(call: Call, execution_id: str, outcome: Execution | Refusal) -> DiscardOutcomeJson:
    if isinstance(outcome, Execution):
        return {"executionId": execution_id, "status": 200}
    told = problem(outcome, call.request_id)
    return {"executionId": execution_id, "status": told["status"], "problem": told}


def _discarded(
    discarded: int, refused: int, *, more: bool = False, outcomes: list[DiscardOutcomeJson] | None = None
) -> Response:
    answer: DiscardedJson = {"discarded": discarded, "refused": refused, "more": more, "outcomes": outcomes}
    return json_response(200, answer)


async def run_again(call: Call) -> Response:
    """POST /v1/executions/{executionId}/rerun."""
    body, execution_id = call.read(RerunBody), call.params["executionId"]
    if ("payload" in body.model_fields_set) == (body.patch is not None):
        raise invalid("/payload", "one_of_two", "Send either payload, which may be null, or patch, and not both.")
    given = granted(await given_to(call.kit, call.tenant_id, execution_id))
    payload = body.payload if body.patch is None else merged(json.loads(given.spec.payload), body.patch)
    text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
    if problems := payload_problems(given, text):
        raise invalid_fields(problems)
    edited, request = Edited(payload=text, reason=body.reason), optional_key(call.request, call.value)
    new = granted(await rerun(call.kit, call.tenant_id, execution_id, edited, request))
    return created(f"/v1/executions/{new.ref.id}", execution_json(await as_shown(call.kit, new)))


def _wanted(asked: Wanted, at: str) -> DeadFilter:
    return DeadFilter(
        job_id=None if asked.job_id is None else JobId(asked.job_id),
        fingerprint=asked.fingerprint,
        error_class=asked.error_class,
        reason=None if asked.reason is None else Reason(asked.reason),
        since=_instant(asked.since, f"{at}since"),
        until=_instant(asked.until, f"{at}until"),
    )


def _instant(text: str | None, pointer: str) -> Instant | None:
    return None if text is None else read_moment(text, pointer)
