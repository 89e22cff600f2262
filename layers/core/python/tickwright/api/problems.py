"""How a refusal looks over HTTP: one status a code, and an RFC 9457 body that says what to change.

Must not know why anything is refused: the domain decides. Promise: SEM-API-1.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tickwright.api.exchange import Response, as_json
from tickwright.domain import limits
from tickwright.domain.outcomes import Code, FieldProblem, Refusal

if TYPE_CHECKING:  # a landing refuses, and shows nothing
    from tickwright.api.problem_answers import ProblemJson

PROBLEM_TYPE = "application/problem+json"
# A client that heeds it comes back when a throttled partition or a restarted process has usually recovered.
RETRY_AFTER_S = 2

ValueT = TypeVar("ValueT")


class Shown(NamedTuple):
    """The status and the title of a code."""

    status: int
    title: str


SHOWN: Mapping[Code, Shown] = {
    Code.MALFORMED_JSON: Shown(400, "The body is not JSON"),
    Code.INVALID: Shown(422, "The request is not valid"),
    Code.TOO_LARGE: Shown(413, "The body is too large"),
    Code.UNAUTHENTICATED: Shown(401, "No valid API key"),
    Code.FORBIDDEN: Shown(403, "The API key may not do that"),
    Code.NOT_FOUND: Shown(404, "Not found"),
    Code.PENDING: Shown(404, "Accepted, and no job yet"),
    Code.METHOD_NOT_ALLOWED: Shown(405, "This path has no such method"),
    Code.UNSUPPORTED_MEDIA_TYPE: Shown(415, "The body has another media type"),
    Code.IDEMPOTENCY_KEY_MISSING: Shown(400, "An Idempotency-Key is required"),
    Code.IDEMPOTENCY_KEY_REUSED: Shown(422, "The Idempotency-Key belongs to another request"),
    Code.IDEMPOTENCY_IN_PROGRESS: Shown(409, "The same request is being worked on"),
    Code.NAME_TAKEN: Shown(409, "The name is taken"),
    Code.IF_MATCH_MISSING: Shown(428, "An If-Match is required"),
    Code.VERSION_CONFLICT: Shown(412, "It has been changed meanwhile"),
    Code.EDIT_WAITS: Shown(409, "An edit of the job waits"),
    Code.JOB_OVER: Shown(409, "The job is over"),
    Code.OVERLAP: Shown(409, "Another run is unfinished"),
    Code.ALREADY_FINISHED: Shown(409, "It has finished already"),
    Code.NOT_DEAD: Shown(409, "It is not dead"),
    Code.DISCARDED: Shown(409, "It was discarded"),
    Code.ORDER_OVER: Shown(409, "The order has ended"),
    Code.POOL_IN_USE: Shown(409, "The pool is in use"),
    Code.POOL_RESTS: Shown(409, "The pool was deleted a moment ago"),
    Code.TOO_MANY_ORDERS: Shown(409, "There are too many orders"),
    Code.TOO_MANY_CLAIMS: Shown(429, "Too many claims wait"),
    Code.LEASE_LOST: Shown(409, "The lease is lost"),
    Code.CANCELLED: Shown(409, "It was cancelled"),
    Code.DEADLINE: Shown(409, "Its time is up"),
    Code.UNFINISHED: Shown(503, "There is more to do"),
    Code.UNAVAILABLE: Shown(503, "Unavailable for now"),
    Code.INTERNAL: Shown(500, "A fault of ours"),
}

UNAVAILABLE = Refusal(
    code=Code.UNAVAILABLE,
    detail="The store or the queue does not answer. After Retry-After, send it again, with the same Idempotency-Key.",
)
INTERNAL = Refusal(
    code=Code.INTERNAL,
    detail="Something is wrong on our side; it was noted under this requestId. The request may have been carried out.",
)
_HEADERS: Mapping[Code, Mapping[str, str]] = {
    Code.UNAUTHENTICATED: {"WWW-Authenticate": 'Bearer realm="tickwright"'},
    Code.FORBIDDEN: {"WWW-Authenticate": 'Bearer realm="tickwright", error="insufficient_scope"'},
    Code.UNAVAILABLE: {"Retry-After": str(RETRY_AFTER_S)},
    Code.PENDING: {"Retry-After": str(RETRY_AFTER_S)},
    # Those of its tenant that wait take what comes meanwhile.
    Code.TOO_MANY_CLAIMS: {"Retry-After": "5"},
    Code.UNFINISHED: {"Retry-After": "1"},
    Code.IDEMPOTENCY_IN_PROGRESS: {"Retry-After": "1"},
    Code.POOL_RESTS: {"Retry-After": str(limits.POOL_RESTS_S)},
}


class Refused(Exception):  # noqa: N818 - named as the answer it becomes
    """Ends the reading of a request, or a use case's answer, with a refusal."""

    def __init__(self, refusal: Refusal, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal
        self.headers = headers or {}


def problem(refusal: Refusal, request_id: str) -> "ProblemJson":
    """The body of a refusal."""
    shown = SHOWN[refusal.code]
    return {
        "type": f"urn:tickwright:problem:{refusal.code.value}",
        "title": shown.title,
        "status": shown.status,
        "detail": refusal.detail,
        "code": refusal.code.value,
        "errors": [{"pointer": e.pointer, "code": e.code, "message": e.message} for e in refusal.errors],
        "retryable": refusal.retryable,
        "requestId": request_id,
    }


def problem_response(refusal: Refusal, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that a refusal is. Never cached: the reason may be gone a moment later."""
    return Response(
        status=SHOWN[refusal.code].status,
        headers={
            "Content-Type": PROBLEM_TYPE,
            "Cache-Control": "no-store",
            **_HEADERS.get(refusal.code, {}),
            **(headers or {}),
        },
        body=as_json(problem(refusal, request_id)),
    )


def granted(outcome: ValueT | Refusal) -> ValueT:
    """The outcome of a service, where it is not a refusal; a refusal ends the request."""
    if isinstance(outcome, Refusal):
        raise Refused(outcome)
    return outcome


def invalid(pointer: str, code: str, message: str) -> Refused:
    """A refusal of one field."""
    return invalid_fields((FieldProblem(pointer=pointer, code=code, message=message),))


def invalid_fields(errors: tuple[FieldProblem, ...]) -> Refused:
    """A refusal of several fields at once."""
    assert errors
    count = "One thing" if len(errors) == 1 else f"{len(errors)} things"
    return Refused(Refusal(code=Code.INVALID, detail=f"{count} must be changed: see errors.", errors=errors))
