"""The endpoints of pools: put, get, list, and claim.

Must not know the rules: the services decide, here their outcomes become answers. Promises: SEM-POOL-1 to SEM-POOL-5.
"""

import json

from tickwright.api.bodies import Query
from tickwright.api.call import Call, created, shown
from tickwright.api.checkpoints import checkpoint_json
from tickwright.api.etags import etag_of, version_demanded
from tickwright.api.exchange import Response, as_json, json_response
from tickwright.api.pool_answers import ClaimJson, ClaimsJson, DeletedPoolJson, PoolFieldsJson, PoolJson, PoolsJson
from tickwright.api.pool_bodies import ClaimBody, DeleteQuery, PoolBody
from tickwright.api.problems import granted, invalid
from tickwright.domain.ids import WorkerId
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.job_rules import LANES_FOR_TENANTS
from tickwright.domain.pools import Pool
from tickwright.domain.suspects import is_suspect
from tickwright.domain.traces import traceparent
from tickwright.services.kit import Kit
from tickwright.services.pools import delete_pool, get_pool, list_pools, put_pool
from tickwright.services.pull import Grant, Wish, pull
from tickwright.services.report import deadline_of

_MS_IN_S = 1_000


async def put(call: Call) -> Response:
    """PUT /v1/pools/{name}."""
    description, if_match = call.read(PoolBody).description, version_demanded(call.request)
    done = granted(await put_pool(call.kit, call.tenant_id, _name(call), description, if_match=if_match))
    answer = pool_json(done.pool)
    return created(f"/v1/pools/{done.pool.name}", answer) if done.is_new else shown(answer)


async def get(call: Call) -> Response:
    """GET /v1/pools/{name}."""
    return shown(pool_json(granted(await get_pool(call.kit, call.tenant_id, _name(call)))))


async def delete(call: Call) -> Response:
    """DELETE /v1/pools/{name}."""
    if_match, force = version_demanded(call.request), call.asked(DeleteQuery).force == "true"
    gone = granted(await delete_pool(call.kit, call.tenant_id, _name(call), if_match=if_match, force=force))
    assert gone.deleted_at is not None
    answer: DeletedPoolJson = {**_fields(gone), "deletedAt": to_rfc3339(gone.deleted_at)}
    return json_response(200, answer)


async def list_all(call: Call) -> Response:
    """GET /v1/pools."""
    query = call.asked(Query)
    after_key = call.after_key(query.next_token)
    page = await list_pools(call.kit, call.tenant_id, limit=query.limit, after_key=after_key)
    answer: PoolsJson = {
        "pools": [_fields(pool) for pool in page.items],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def claim(call: Call) -> Response:
    """POST /v1/pools/{name}/claim."""
    body = call.read(ClaimBody)
    if body.close and body.request_id is None:
        raise invalid("/requestId", "missing", "It is required beside close; say which request it closes.")
    wanted = None if body.lanes is None else set(body.lanes)
    wish = Wish(
        worker_id=WorkerId(body.worker_id),
        most=body.most,
        wait_ms=body.wait_sec * _MS_IN_S,
        lanes=[lane for lane in LANES_FOR_TENANTS if wanted is None or lane.value in wanted],
        request=body.request_id,
        seats=call.api.claim_seats,
        closes=body.close,
    )
    began_ms = call.kit.clock.monotonic_ms()
    grants = granted(await pull(call.kit, call.tenant_id, _name(call), wish))
    answer: ClaimsJson = {
        "executions": [_claim_json(call.kit, grant) for grant in grants],
        "waitedSec": (call.kit.clock.monotonic_ms() - began_ms) / _MS_IN_S,
    }
    return json_response(200, answer, {"Cache-Control": "no-store"})


def pool_json(pool: Pool) -> PoolJson:
    """A pool, whole."""
    answer: PoolJson = {**_fields(pool), "etag": ""}
    answer["etag"] = etag_of(as_json(answer), pool.version)
    return answer


def _fields(pool: Pool) -> PoolFieldsJson:
    return {
        "name": pool.name,
        "description": pool.description,
        "createdAt": to_rfc3339(pool.created_at),
        "version": pool.version,
    }


def _claim_json(kit: Kit, grant: Grant) -> ClaimJson:
    execution, spec, now = grant.execution, grant.definition.spec, kit.clock.now()
    assert execution.lease_until is not None
    deadline = deadline_of(execution)
    return {
        "executionId": execution.ref.id,
        "jobId": execution.job_id,
        "jobName": spec.name,
        "handler": str(spec.target.settings["handler"]),
        "scheduledTime": to_rfc3339(execution.scheduled_at),
        "attempt": execution.attempt,
        "maxAttempts": execution.max_attempts,
        "leaseEpoch": execution.lease_epoch,
        "leaseUntil": to_rfc3339(execution.lease_until),
        "leaseSec": max(0, execution.lease_until - now) / _MS_IN_S,
        "deadline": to_rfc3339(deadline),
        "timeSec": max(0, deadline - now) / _MS_IN_S,
        "heartbeatSec": kit.durations.heartbeat_ms / _MS_IN_S,
        "checkpoint": checkpoint_json(execution.noted),
        "alone": is_suspect(execution),
        "traceparent": traceparent(execution.ref, execution.lease_epoch),
        "payload": json.loads(spec.payload),
    }


def _name(call: Call) -> str:
    return call.params["name"]
