"""The endpoints about the installation and the caller: health, openapi.json, me."""

import tickwright
from tickwright.api.answers import HealthJson, MeJson
from tickwright.api.call import Call
from tickwright.api.etags import etag_of
from tickwright.api.exchange import JSON_TYPE, Response, json_response

# Any bucket's lease will do: one small strong read shows that the store answers.
_BUCKET_ASKED = 0


async def health(call: Call) -> Response:
    """GET /v1/health; a store that does not answer makes it a 503."""
    await call.kit.store.lease(_BUCKET_ASKED)
    answer: HealthJson = {"status": "ok", "version": tickwright.__version__}
    return json_response(200, answer, {"Cache-Control": "no-store"})


async def me(call: Call) -> Response:
    """GET /v1/me."""
    caller = call.caller
    answer: MeJson = {
        "tenantId": caller.tenant_id,
        "label": caller.label,
        "scopes": sorted(scope.value for scope in caller.scopes),
    }
    return json_response(200, answer, {"Cache-Control": "private, no-cache"})


async def openapi(call: Call) -> Response:
    """GET /v1/openapi.json."""
    # Made once, when somebody asks: the models' schemas would cost every cold start 50 ms.
    from tickwright.api.openapi import document_text  # noqa: PLC0415

    assert call.request.method == "GET"
    body = document_text().encode()
    headers = {"Content-Type": JSON_TYPE, "ETag": etag_of(body), "Cache-Control": "public, max-age=300"}
    return Response(status=200, headers=headers, body=body)
