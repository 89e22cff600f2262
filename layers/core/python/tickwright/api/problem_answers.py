"""How a refusal looks over HTTP, as openapi.json describes it. Promise: SEM-API-1."""

from typing_extensions import TypedDict


class ErrorJson(TypedDict):
    """One thing to change: a JSON pointer into the body (or `query:name`, `header:Name`), a code and a remedy."""

    pointer: str
    code: str
    message: str


class ProblemJson(TypedDict):
    """An RFC 9457 problem. Programs go by `code`; `retryable` says whether the same request may succeed later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[ErrorJson]
    retryable: bool
    requestId: str
