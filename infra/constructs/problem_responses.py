"""What API Gateway answers by itself, in the shape of the product's own refusals: problem+json, a code and a remedy.

Must not know the product's own codes beyond those it repeats. Without this a caller would meet `{"message": null}` from
a door that otherwise speaks RFC 9457 (SEM-API-1).
"""

import json
from dataclasses import dataclass, field

from aws_cdk import aws_apigateway as apigateway


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    status: int
    code: str
    title: str
    detail: str
    retryable: bool = False
    headers: dict[str, str] = field(default_factory=dict)


# Codes, statuses and titles are the product's; a test compares them.
_INVALID = _Problem(
    status=422,
    code="invalid",
    title="The request is not valid",
    detail="The request cannot be read. Check its path, headers and body.",
)
_UNAUTHENTICATED = _Problem(
    status=401,
    code="unauthenticated",
    title="No valid API key",
    detail="Send a valid API key as `Authorization: Bearer tw_...`.",
    headers={"WWW-Authenticate": """'Bearer realm="tickwright"'"""},
)
_FORBIDDEN = _Problem(
    status=403,
    code="forbidden",
    title="The API key may not do that",
    detail="Use a key with the scope that this request needs.",
)
_FILTERED = _Problem(
    status=403,
    code="filtered",
    title="The web ACL refused the request",
    detail="Not for its key: too many requests came from this address in five minutes, or it looks like an"
    " attack. Send fewer, or ask whoever runs this installation.",
)
_NOT_FOUND = _Problem(
    status=404,
    code="not_found",
    title="Not found",
    detail="There is no such path or method. Those that exist are listed in /v1/openapi.json.",
)
# As the API says it (tickwright.domain.limits, which a test compares).
BODY_BYTES_MAX, PAYLOAD_BYTES_MAX = 1_048_576, 262_144
_TOO_LARGE = _Problem(
    status=413,
    code="too_large",
    title="The body is too large",
    detail=f"Send a smaller body: it may have {BODY_BYTES_MAX} bytes, and a payload in it {PAYLOAD_BYTES_MAX}.",
)
_MEDIA_TYPE = _Problem(
    status=415,
    code="unsupported_media_type",
    title="The body has another media type",
    detail="Send `Content-Type: application/json`.",
)
_TOO_MANY = _Problem(
    status=429,
    code="too_many_requests",
    title="Too many requests",
    detail="The installation takes no more requests at the moment. After Retry-After, send it again.",
    retryable=True,
    headers={"Retry-After": "'1'"},
)
_UNAVAILABLE = _Problem(
    status=503,
    code="unavailable",
    title="Unavailable for now",
    detail="No answer in time, or no room for the request at the moment; it may have been carried out. After"
    " Retry-After, send it again, with the same Idempotency-Key or requestId.",
    retryable=True,
    headers={"Retry-After": "'2'"},
)

# Never cached: the reason may be gone a moment later.
_HEADERS = {"Content-Type": "'application/problem+json'", "Cache-Control": "'no-store'"}

_TYPE = apigateway.ResponseType
_RESPONSES = (
    (_TYPE.DEFAULT_4_XX, _INVALID),
    (_TYPE.DEFAULT_5_XX, _UNAVAILABLE),
    (_TYPE.UNAUTHORIZED, _UNAUTHENTICATED),
    (_TYPE.INVALID_SIGNATURE, _UNAUTHENTICATED),
    (_TYPE.EXPIRED_TOKEN, _UNAUTHENTICATED),
    (_TYPE.ACCESS_DENIED, _FORBIDDEN),
    (_TYPE.WAF_FILTERED, _FILTERED),
    # What API Gateway calls a missing token is a path or method that it does not know.
    (_TYPE.MISSING_AUTHENTICATION_TOKEN, _NOT_FOUND),
    (_TYPE.RESOURCE_NOT_FOUND, _NOT_FOUND),
    (_TYPE.REQUEST_TOO_LARGE, _TOO_LARGE),
    (_TYPE.UNSUPPORTED_MEDIA_TYPE, _MEDIA_TYPE),
    (_TYPE.THROTTLED, _TOO_MANY),
    (_TYPE.QUOTA_EXCEEDED, _TOO_MANY),
    # The store did not answer the authorizer: not the caller's fault, and nothing was done.
    (_TYPE.AUTHORIZER_FAILURE, _UNAVAILABLE),
    (_TYPE.AUTHORIZER_CONFIGURATION_ERROR, _UNAVAILABLE),
    # Also what Lambda refuses because a function's concurrency is used up: a proxy integration does not pass it on.
    (_TYPE.INTEGRATION_FAILURE, _UNAVAILABLE),
    (_TYPE.INTEGRATION_TIMEOUT, _UNAVAILABLE),
)


def add_problem_responses(gateway: apigateway.RestApi) -> None:
    """Give every answer that API Gateway makes by itself the body and headers of a problem."""
    for response_type, problem in _RESPONSES:
        gateway.add_gateway_response(
            f"Problem-{response_type.response_type}",
            type=response_type,
            status_code=str(problem.status),
            response_headers={**_HEADERS, **problem.headers},
            templates={"application/json": _body(problem)},
        )


def _body(problem: _Problem) -> str:
    return json.dumps(
        {
            "type": f"urn:tickwright:problem:{problem.code}",
            "title": problem.title,
            "status": problem.status,
            "code": problem.code,
            "detail": problem.detail,
            "errors": [],
            "retryable": problem.retryable,
            "requestId": "$context.requestId",
        }
    )
