"""What goes in and out of the API: a request, an answer, and who is calling.

Must not know a server: Lambda (gateway.py) and the local server (asgi.py) translate to and from these.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tickwright.domain.ids import TenantId
from tickwright.domain.tenants import Scope

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose key it is and what it may do; made from the credential alone (SEM-TENANT-1)."""

    tenant_id: TenantId
    scopes: frozenset[Scope]
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. Header names are in lower case; `caller` is set only by a door that has looked at the key itself."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    source_ip: str = ""
    caller: Caller | None = None

    def header(self, name: str) -> str | None:
        """The value of a header, None where it was not sent."""
        return self.headers.get(name.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def as_json(value: object) -> bytes:
    """The JSON text of an answer, without blanks. What is no JSON (NaN) is a bug here and raises."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def json_response(status: int, value: object, headers: Mapping[str, str] | None = None) -> Response:
    """An answer with a JSON body."""
    return Response(status=status, headers={"Content-Type": JSON_TYPE, **(headers or {})}, body=as_json(value))
