"""Answers a request: finds its route, caller and body, calls the endpoint, makes every refusal and fault a problem.

Must not know what endpoints do, nor a server. The only broad `except` of the API is here. Promises: SEM-API-1,
SEM-TENANT-1.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tickwright.api.bodies import MayBeAbsent
from tickwright.api.call import Api, Call, check_scope
from tickwright.api.copies import NO_EDIT_FROM_THIS, answered
from tickwright.api.etags import etag_of, is_current
from tickwright.api.exchange import Caller, Request, Response
from tickwright.api.keys import look_up
from tickwright.api.problems import INTERNAL, UNAVAILABLE, Refused, granted, invalid, problem_response
from tickwright.api.route import Route, routes_at
from tickwright.api.shapes import shaped
from tickwright.api.strict_json import read_json
from tickwright.domain.outcomes import Code, Refusal
from tickwright.ports.faults import Unavailable

_LOG = logging.getLogger("tickwright.api")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_NO_PATH = Refusal(
    code=Code.NOT_FOUND, detail="There is no such path; those that exist are listed in /v1/openapi.json."
)
_NO_CALLER = Refusal(code=Code.UNAUTHENTICATED, detail="The request did not come through the authorizer.")


async def answer(api: Api, request: Request, routes: Sequence[Route]) -> Response:
    """Answer any request whatever; never raises. `routes`: those that this program serves."""
    sent_id = request.header("x-request-id") or ""
    request_id = sent_id if _REQUEST_ID.fullmatch(sent_id) else api.kit.entropy.token()
    try:
        response = _unless_current(request, await _answered(api, request, request_id, routes))
    except Refused as refused:
        response = problem_response(refused.refusal, request_id, refused.headers)
    except Unavailable:
        _LOG.warning("unavailable", exc_info=True, extra={"requestId": request_id})
        response = problem_response(UNAVAILABLE, request_id)
    except Exception:  # noqa: BLE001 - the last line: whatever went wrong is noted, and the caller is told no details
        _LOG.exception("unexpected", extra={"requestId": request_id})
        response = problem_response(INTERNAL, request_id)
    headers = {"X-Request-Id": request_id, "X-Content-Type-Options": "nosniff", **response.headers}
    return replace(response, headers=headers)


async def _answered(api: Api, request: Request, request_id: str, routes: Sequence[Route]) -> Response:
    route, params = _route(request, routes)
    caller = None if route.is_open else await _caller(api, request)
    if caller is not None:
        _check_scope(route, caller)
    value = _value(route, request)
    call = Call(
        api=api,
        request=request,
        request_id=request_id,
        params=params,
        query=shaped(route.query, _query(request), prefix="query:"),
        body=None if route.body is None or route.body_is_patch else shaped(route.body, value),
        value=value,
        maybe_caller=caller,
    )
    return await answered(call, route)


def _route(request: Request, routes: Sequence[Route]) -> tuple[Route, Mapping[str, str]]:
    there = list(routes_at(request.path, routes))
    if not there:
        raise Refused(_NO_PATH)
    for route, params in there:
        if route.method == request.method:
            return route, params
    allowed = ", ".join(sorted(route.method for route, _ in there))
    detail = f"This path has {allowed}; use one of them."
    raise Refused(Refusal(code=Code.METHOD_NOT_ALLOWED, detail=detail), {"Allow": allowed})


async def _caller(api: Api, request: Request) -> Caller:
    if api.behind_gateway:
        # A key that came past the authorizer proves nothing here: only what the authorizer says does.
        return granted(request.caller or _NO_CALLER)
    return granted(await look_up(api.kit, request.header("authorization"), api.known_keys))


def _check_scope(route: Route, caller: Caller) -> None:
    if route.scope is not None:
        check_scope(caller, route.scope)


def _value(route: Route, request: Request) -> object:
    """The JSON in the body; what needs no member may be asked for without one."""
    if route.body is None or (issubclass(route.body, MayBeAbsent) and not request.body.strip()):
        return {}
    return read_json(request)


def _query(request: Request) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in request.query:
        if name in found:
            raise invalid(f"query:{name[:40]}", "twice", "It stands twice; send it once.")
        found[name] = value
    return found


def _unless_current(request: Request, response: Response) -> Response:
    """304 where the caller has it already; of what is stale nobody knows."""
    etag = response.headers.get("ETag") or etag_of(response.body)
    if request.method != "GET" or etag == NO_EDIT_FROM_THIS:
        return response
    headers = {**response.headers, "ETag": etag}
    if not is_current(request, etag):
        return replace(response, headers=headers)
    kept = {name: value for name, value in headers.items() if name in {"ETag", "Cache-Control", "Vary"}}
    return Response(status=304, headers=kept)
