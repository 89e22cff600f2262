"""The API as an OpenAPI 3.1 document, made from the table of routes and the models. As a command: writes or compares.

`python -m tickwright.api.openapi write docs/api/openapi.json`, or `check` in its place. Must not know a server.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

import tickwright
from tickwright.api.answers import ExecutionJson, ExecutionShownJson, JobJson, JobShownJson
from tickwright.api.bodies import MayBeAbsent
from tickwright.api.calendar_answers import CalendarJson
from tickwright.api.exchange import JSON_TYPE
from tickwright.api.jobs import create
from tickwright.api.problem_answers import ProblemJson
from tickwright.api.problems import PROBLEM_TYPE
from tickwright.api.route import Route
from tickwright.api.routes import ROUTES
from tickwright.api.strict_json import MERGE_PATCH_TYPE

_REF = "#/components/schemas/{model}"
CREATED = 201
_WITH_ETAG = (JobJson, ExecutionJson, CalendarJson)
_ARGUMENTS = 2
_TITLES = {
    200: "Done",
    201: "Created",
    202: "Accepted: it is carried out from now on",
    400: "The body is no JSON, or a header is missing",
    401: "No valid API key",
    403: "The API key lacks a scope",
    404: "There is none, or it is another tenant's",
    409: "Its state does not allow it: see `code`",
    412: "It has been changed meanwhile",
    413: "The body is too large",
    415: "The body has another media type",
    422: "Something must be changed: see `errors`",
    428: "If-Match is required",
    429: "Too much at once: try again after Retry-After",
    500: "A fault of ours",
    503: "Try again after Retry-After",
}
_HEADERS_TELL = {
    "Idempotency-Key": "Fresh for each new request; a repeat with the same key and body creates nothing twice.",
    "If-Match": "The ETag of what is changed, as the change was made from it.",
    "If-None-Match": "The ETag of what the caller has; 304 if it is current.",
}
_CREATE_ONLY = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "`*`: only if there is none, or a retired one; else 412. With `If-Match: *` only if there is one.",
    "schema": {"type": "string", "const": "*"},
}
_ANSWER_HEADERS = {
    "X-Request-Id": "Names the request in logs; sent back as it came, or made.",
    "ETag": "What is shown, for If-None-Match; for a job and a calendar also If-Match.",
    "Location": "Where it is.",
    "Idempotent-Replayed": "`true` where an earlier request has created it.",
    "Retry-After": "When to send it again, with its key, to learn what has become of it: in seconds.",
    "Warning": "`110` while the store does not answer: a copy is shown, with `stale` and `asOf` in it.",
    "Age": "Of a copy: how many seconds ago it was made.",
}


def document() -> dict[str, Any]:
    """The whole document."""
    schemas = _Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tickwright",
            "version": tickwright.__version__,
            "description": "A multi-tenant job scheduler. Times are RFC 3339 UTC with milliseconds. Refusals are "
            "RFC 9457 problems; programs go by `code`. Ids and page tokens are opaque: compare them, take none apart.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.defs.items())),
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `tw_...`."}},
        },
        "security": [{"apiKey": []}],
    }


@lru_cache(maxsize=1)
def document_text() -> str:
    """The document as it is written and served."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


class _Schemas:
    """The schemas of every model, and where each is."""

    def __init__(self) -> None:
        inputs = [(model, _mode(model), TypeAdapter(model)) for model in _models()]
        places, found = TypeAdapter.json_schemas(inputs, ref_template=_REF)
        self.defs: dict[str, Any] = {_public(name): _tidied(schema) for name, schema in found["$defs"].items()}
        assert len(self.defs) == len(found["$defs"]), "two models have one public name"
        self._places = {str(model): _tidied(place) for (model, _), place in places.items()}

    def of(self, model: Any) -> dict[str, Any]:  # noqa: ANN401 - a model, or a type that pydantic has a schema for
        """What stands for the model in the document."""
        place: dict[str, Any] = self._places[str(model)]
        return place


def _models() -> list[Any]:
    used = [
        model
        for route in ROUTES
        for model in (route.body, route.answer, route.validated, route.accepted)
        if model is not None
    ]
    return list({str(model): model for model in [ProblemJson, *used]}.values())


def _mode(model: Any) -> JsonSchemaMode:  # noqa: ANN401 - as above
    return "validation" if isinstance(model, type) and issubclass(model, BaseModel) else "serialization"


def _public(name: str) -> str:
    return re.sub("Body$", "Request", name.removesuffix("Json"))


def _tidied(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """Without the titles that pydantic makes of names, and with the public names of models."""
    if isinstance(schema, list):
        return [_tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _tidied(part) for name, part in schema.items() if name != "title" or not isinstance(part, str)}
    if isinstance(kept.get("$ref"), str):
        path, _, name = kept["$ref"].rpartition("/")
        kept["$ref"] = f"{path}/{_public(name)}"
    return kept


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": _operation_id(route), "summary": route.says, "tags": [_tag(route)]}
    if parameters := [*_path_parameters(route), *_header_parameters(route), *_query_parameters(route)]:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _request_body(route, route.body, schemas)
    operation["responses"] = _responses(route, schemas)
    if route.is_open:
        operation["security"] = []
    if route.scope is not None:
        operation["description"] = f"Needs the scope `{route.scope.value}`."
    return operation


def _operation_id(route: Route) -> str:
    return f"{route.endpoint.__module__.rpartition('.')[2]}.{route.endpoint.__name__}"


def _tag(route: Route) -> str:
    return route.endpoint.__module__.rpartition(".")[2]


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", route.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _header_parameters(route: Route) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {
            "name": header.rstrip("!"),
            "in": "header",
            "required": header.endswith("!"),
            "description": _HEADERS_TELL[header.rstrip("!")],
            "schema": {"type": "string"},
        }
        for header in route.headers
    ]
    return [*told, _CREATE_ONLY] if route.may_create else told


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    schema = TypeAdapter(route.query).json_schema(ref_template=_REF)
    inner = schema.get("$defs", {})
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _inlined(_tidied(of), inner)}
        for name, of in schema.get("properties", {}).items()
    ]


def _inlined(schema: Any, inner: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any part of a schema
    """A parameter's enumeration stands where it is used: nobody else uses it."""
    if isinstance(schema, list):
        return [_inlined(part, inner) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _tidied(inner[schema["$ref"].rpartition("/")[2]])
    return {name: _inlined(part, inner) for name, part in schema.items()}


def _request_body(route: Route, body: type[BaseModel], schemas: _Schemas) -> dict[str, Any]:
    if not route.body_is_patch:
        return {"required": not issubclass(body, MayBeAbsent), "content": {JSON_TYPE: {"schema": schemas.of(body)}}}
    # A patch has any of the members, null to take one away: what it makes is checked, not the patch itself.
    patch = {"schema": {"type": "object", "description": "A merge patch of the job as POST takes it."}}
    return {"required": True, "content": {MERGE_PATCH_TYPE: patch, JSON_TYPE: patch}}


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    problem = {PROBLEM_TYPE: {"schema": schemas.of(ProblemJson)}}
    responses: dict[str, Any] = {
        str(status): {
            "description": _TITLES[status],
            "headers": _answer_headers(route, status),
            "content": {JSON_TYPE: {"schema": schemas.of(route.answer)}},
        }
        for status in ((route.status, CREATED) if route.may_create else (route.status,))
    }
    if route.validated is not None:
        _add_validated(responses, schemas.of(route.validated))
    if route.accepted is not None:
        responses["202"] = {
            "description": "Kept while the store does not answer: it becomes a job, or is refused, afterwards",
            "headers": {name: _header(name) for name in ("X-Request-Id", "Location", "Retry-After")},
            "content": {JSON_TYPE: {"schema": schemas.of(route.accepted)}},
        }
    if "If-None-Match" in route.headers:
        responses["304"] = {"description": "The caller has it already"}
    for status in sorted(_refusals(route)):
        responses[str(status)] = {"description": _TITLES[status], "content": problem}
    return responses


def _add_validated(responses: dict[str, Any], validated: dict[str, Any]) -> None:
    """The answer to `validateOnly=true`, beside that of the write where both have one status."""
    if "200" not in responses:
        header = {"X-Request-Id": _header("X-Request-Id")}
        content = {JSON_TYPE: {"schema": validated}}
        responses["200"] = {"description": "Nothing was written", "headers": header, "content": content}
        return
    content = responses["200"]["content"][JSON_TYPE]
    content["schema"] = {"anyOf": [content["schema"], validated]}


def _refusals(route: Route) -> set[int]:
    usual = {422, 500, 503}
    keyed = set() if route.is_open else {401}
    scoped = set() if route.scope is None else {403}
    found = {404} if "{" in route.path else set()
    read = set() if route.body is None else {400, 413, 415}
    return {*usual, *keyed, *scoped, *found, *read, *route.refusals}


def _answer_headers(route: Route, status: int) -> dict[str, Any]:
    names = ["X-Request-Id"]
    names += ["ETag"] if route.method == "GET" or route.answer in _WITH_ETAG else []
    names += ["Location"] if status == CREATED else []
    names += ["Idempotent-Replayed"] if route.endpoint is create else []
    names += ["Warning", "Age"] if route.answer in (JobShownJson, ExecutionShownJson) else []
    return {name: _header(name) for name in names}


def _header(name: str) -> dict[str, Any]:
    return {"description": _ANSWER_HEADERS[name], "schema": {"type": "string"}}


def main(arguments: Sequence[str]) -> int:
    """Write the document, or say whether the file is it."""
    if len(arguments) != _ARGUMENTS or arguments[0] not in {"write", "check"}:
        sys.stderr.write("usage: python -m tickwright.api.openapi write|check FILE\n")
        return 2
    path = Path(arguments[1])
    if arguments[0] == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document_text(), encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == document_text():
        return 0
    sys.stderr.write(f"{path} is not what the code says; run `python -m tickwright.api.openapi write {path}`.\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
