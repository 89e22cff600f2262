"""Whether an answer is one that openapi.json allows: its status, media type, headers, and every member of its body."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tickwright.api.exchange import Request, Response
from tickwright.api.openapi import document
from tickwright.api.route import routes_at
from tickwright.api.routes import ROUTES

_ROOT = "urn:document"
# What may be sent to any path there is: nothing of it has an operation in the document.
_WITHOUT_OPERATION = {404, 405}
# Headers of a replay, and of a copy that is shown while the store does not answer.
_SOMETIMES = {"Idempotent-Replayed", "Warning", "Age"}


def check_against_document(request: Request, response: Response, content: object) -> None:
    """Fail where the document does not allow this answer to this request."""
    assert response.headers["X-Request-Id"]
    operation = _operation(request)
    if operation is None:
        assert response.status in _WITHOUT_OPERATION, (request.method, request.path, response.status)
        _validator("#/components/schemas/Problem").validate(content)
        return
    told = operation["responses"].get(str(response.status))
    assert told is not None, (
        f"{request.method} {request.path} answers {response.status}, which openapi.json does not have"
    )
    if "content" not in told:
        assert response.body == b""
        return
    media = response.headers["Content-Type"].partition(";")[0]
    assert media in told["content"], (media, told)
    for name in told.get("headers", {}):
        assert name in response.headers or name in _SOMETIMES, f"{name} is missing"
    _check(told["content"][media]["schema"], content)


def _operation(request: Request) -> dict[str, Any] | None:
    for route, _ in routes_at(request.path, ROUTES):
        if route.method == request.method:
            found: dict[str, Any] = _closed_document()["paths"][route.path][route.method.lower()]
            return found
    return None


def _check(schema: dict[str, Any], content: object) -> None:
    if "$ref" in schema:
        _validator(schema["$ref"]).validate(content)
    elif "anyOf" in schema:
        assert any(_validator(one["$ref"]).is_valid(content) for one in schema["anyOf"]), content
    else:
        Draft202012Validator(schema).validate(content)


@cache
def _validator(ref: str) -> Draft202012Validator:
    registry: Registry[Any] = Registry().with_resource(
        _ROOT, Resource.from_contents(_closed_document(), default_specification=DRAFT202012)
    )
    return Draft202012Validator({"$ref": f"{_ROOT}{ref}"}, registry=registry)


@cache
def _closed_document() -> dict[str, Any]:
    """The document with every object closed: clients must bear a new member, but this version hides none."""
    made = document()
    for schema in made["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return made
