"""A tenant at the deployed REST API, with a key that the operator made.

Must not know what the jobs are. API Gateway's own address is not served here: the same API answers at the local AWS's.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.deploy.ground import Missed, until

_ID = re.compile(r"https://(\w+)\.execute-api\.")
# The local AWS starts a process for a function that is called the first time, and a busy machine takes its time.
_TIMEOUT_S = 120
_PAGES_MAX = 50
_AGAIN = (429, 503)
_AGAIN_S = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and what came with it."""

    status: int
    body: Any


@dataclass(slots=True, kw_only=True)
class Tenant:
    """Who calls. `secret` None: somebody without a key."""

    endpoint: str
    path: str
    secret: str | None = field(default=None, repr=False)

    @classmethod
    def at(cls, endpoint: str, url: str, secret: str | None = None) -> "Tenant":
        """By the URL that the stack Api gives."""
        named = _ID.match(url)
        assert named is not None, url
        stage = urlsplit(url).path.strip("/")
        return cls(endpoint=endpoint, path=f"/restapis/{named[1]}/{stage}/_user_request_/v1", secret=secret)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """One request."""
        connection = HTTPConnection(urlsplit(self.endpoint).netloc, timeout=_TIMEOUT_S)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.secret is not None:
            sent["Authorization"] = f"Bearer {self.secret}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, self.path + path, None if body is None else json.dumps(body), sent)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        try:
            return Answer(response.status, json.loads(text) if text else None)
        except ValueError as fault:
            raise Missed(f"{method} {path}: {response.status} without JSON: {text[:300]!r}") from fault

    def told(self, method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401 - JSON
        """The body of an answer that is no refusal; what may be sent again is sent again, as clients do."""

        def answered() -> Answer | None:
            answer = self.ask(method, path, body, **headers)
            return None if answer.status in _AGAIN else answer

        answer = until(f"{method} {path} is answered", answered, within_s=_AGAIN_S)
        if answer.status >= 300:
            raise Missed(f"{method} {path}: {answer.status} {answer.body}")
        return answer.body

    def submit(self, name: str, job: Mapping[str, object]) -> str:
        """A job; its id."""
        made = self.told("POST", "/jobs", {"name": name, **job}, Idempotency_Key=name)
        return str(made["jobId"])

    def ledger(self, job_id: str) -> list[dict[str, Any]]:
        """All executions of a job, newest first."""
        found: list[dict[str, Any]] = []
        token = ""
        for _ in range(_PAGES_MAX):
            page = self.told("GET", f"/jobs/{job_id}/executions?limit=100{token}")
            found += page["executions"]
            if page["nextToken"] is None:
                return found
            token = f"&nextToken={page['nextToken']}"
        raise Missed(f"the ledger of {job_id} has no end")
