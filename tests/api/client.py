"""A caller of the API: sends requests to it in this process, checks each answer against openapi.json, and reads it.

Every test of the API is so a test of its document as well.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.api.document import check_against_document
from tickwright.api.call import Api
from tickwright.api.exchange import Request, Response
from tickwright.api.routes import ROUTES
from tickwright.api.service import answer

IN_A_YEAR = "2099-01-01T00:00:00Z"
A_JOB: dict[str, Any] = {"schedule": {"runAt": IN_A_YEAR}, "target": {"type": "python", "handler": "nightly"}}


@dataclass(frozen=True, slots=True)
class Got:
    """An answer, read."""

    status: int
    headers: Mapping[str, str]
    json: Any

    @property
    def code(self) -> str:
        """The code of a refusal."""
        return str(self.json["code"])

    def errors(self) -> list[tuple[str, str]]:
        """Where a refusal says that something is wrong, and how."""
        return [(error["pointer"], error["code"]) for error in self.json["errors"]]


class Client:
    """A caller with one key."""

    def __init__(self, api: Api, secret: str | None) -> None:
        self.api = api
        self.secret = secret
        self._keys = 0

    async def send(self, method: str, path: str, body: object = None, **headers: str | None) -> Got:
        """Send a request; a header is a named argument (`if_match=`), None leaves one out that is usual."""
        return await self.send_raw(method, path, b"" if body is None else json.dumps(body).encode(), **headers)

    async def send_raw(self, method: str, path: str, raw: bytes, **headers: str | None) -> Got:
        """Send a body as it is."""
        usual = {"content-type": "application/json" if raw else None, "authorization": self._bearer()}
        sent = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = path.partition("?")
        request = Request(
            method=method,
            path=path,
            query=_parsed(query),
            headers={name: value for name, value in sent.items() if value is not None},
            body=raw,
        )
        return _read(request, await answer(self.api, request, ROUTES))

    async def get(self, path: str, **headers: str | None) -> Got:
        """GET."""
        return await self.send("GET", path, **headers)

    async def post(self, path: str, body: object = None, **headers: str | None) -> Got:
        """POST, with a fresh Idempotency-Key unless one is given."""
        self._keys += 1
        return await self.send("POST", path, body, **{"idempotency_key": f"key-{self._keys}", **headers})

    async def job(self, **shown: object) -> Any:  # noqa: ANN401 - JSON
        """A new job: one that is due in a year, or as shown."""
        got = await self.post("/v1/jobs", A_JOB | shown)
        assert got.status == 201, got.json
        return got.json

    def _bearer(self) -> str | None:
        return None if self.secret is None else f"Bearer {self.secret}"


def _parsed(query: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.partition("=") for part in query.split("&") if part]
    return tuple((name, value) for name, _, value in pairs)


def _read(request: Request, response: Response) -> Got:
    content = json.loads(response.body) if response.body else None
    check_against_document(request, response, content)
    return Got(status=response.status, headers=response.headers, json=content)
