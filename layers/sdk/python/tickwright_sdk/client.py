"""The API from a program: submit a job, look at it, pause it, run it now, and what a worker reports.

Must not know how a request is sent (connection.py). Answers are the API's own JSON as dictionaries: openapi.json names
every member. Whatever creates something carries an Idempotency-Key, so a repeat after silence creates nothing twice.
Promise: SEM-SDK-10.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote

from tickwright_sdk.connection import STANDARD, Ask, Connection, Patience, Wait
from tickwright_sdk.machine import token

Json = dict[str, Any]
_PAGES_MAX = 10_000  # a list that does not end is a fault of somebody's


class Client:
    """One tenant's view of an installation."""

    def __init__(
        self, url: str, key: str, *, patience: Patience = STANDARD, wait: Wait | None = None, connections: int = 8
    ) -> None:
        """`url` as the stack's output says it, `key` an API key of the tenant; nothing is sent yet."""
        self._connection = Connection(url, key, patience=patience, wait=wait, connections=connections)

    def __repr__(self) -> str:
        """Without the key."""
        return f"Client({self._connection!r})"

    @property
    def url(self) -> str:
        """Where the API is."""
        return self._connection.origin

    def health(self) -> Json:
        """Whether the API answers; it takes no key."""
        return self._get("/v1/health")

    # ------------------------------------------------------------------------------------------ jobs

    def submit(self, job: Mapping[str, Any], *, idempotency_key: str | None = None) -> Json:
        """Submit a job; the answer is the job. With a key of one's own a later repeat creates nothing either."""
        return self._create("/v1/jobs", dict(job), idempotency_key)

    def job(self, job_id: str) -> Json:
        """A job."""
        return self._get(_job(job_id))

    def jobs(self, *, prefix: str = "", status: str | None = None, tag: str | None = None) -> Iterator[Json]:
        """Every job, by name; page after page as they are asked for."""
        query = {"prefix": prefix, "status": status, "tag": tag}
        return self._pages("/v1/jobs", "jobs", {name: value for name, value in query.items() if value})

    def pause(self, job_id: str) -> Json:
        """Let a job fire no more until it is resumed."""
        return self._post(f"{_job(job_id)}/pause", {})

    def resume(self, job_id: str) -> Json:
        """Let a paused job fire again."""
        return self._post(f"{_job(job_id)}/resume", {})

    def cancel(self, job_id: str) -> Json:
        """End a job and cancel what of it is unfinished."""
        return self._ask(Ask(method="DELETE", path=_job(job_id), may_repeat=True))

    def run(self, job_id: str, *, idempotency_key: str | None = None) -> Json:
        """Run a job now, outside its schedule; the answer is the execution."""
        return self._create(f"{_job(job_id)}/run", {}, idempotency_key)

    # ------------------------------------------------------------------------------------ executions

    def execution(self, execution_id: str) -> Json:
        """An execution."""
        return self._get(_execution(execution_id))

    def executions(self, job_id: str) -> Iterator[Json]:
        """A job's executions, newest first; page after page as they are asked for."""
        return self._pages(f"{_job(job_id)}/executions", "executions", {})

    def explain(self, execution_id: str) -> Json:
        """What an execution waits for."""
        return self._get(f"{_execution(execution_id)}/explanation")

    def logs(self, execution_id: str) -> Iterator[Json]:
        """The end of what each of its attempts has said, newest first."""
        return self._pages(f"{_execution(execution_id)}/logs", "logs", {})

    def cancel_execution(self, execution_id: str) -> Json:
        """Cancel an execution; one that runs is asked to stop."""
        return self._post(f"{_execution(execution_id)}/cancel", {})

    def redrive(self, execution_id: str, *, idempotency_key: str | None = None) -> Json:
        """Give a dead execution its attempts anew."""
        return self._create(f"{_execution(execution_id)}/redrive", {}, idempotency_key)

    # --------------------------------------------------------------------------------------- workers

    def put_pool(self, name: str, *, description: str | None = None) -> Json:
        """Create a pool, or change what it says."""
        body = {} if description is None else {"description": description}
        return self._ask(Ask(method="PUT", path=f"/v1/pools/{_step(name)}", body=body, may_repeat=True))

    def claim(self, pool: str, asked: Mapping[str, Any], *, read_s: float) -> Json:
        """Claim executions of a pool. Sent once: whoever polls repeats it, under its requestId, if not to stop."""
        return self._ask(Ask(method="POST", path=f"/v1/pools/{_step(pool)}/claim", body=dict(asked), read_s=read_s))

    def heartbeat(self, execution_id: str, body: Mapping[str, Any], *, read_s: float | None = None) -> Json:
        """Keep the lease of an attempt. Sent once: the next heartbeat is its repeat."""
        path = f"{_execution(execution_id)}/heartbeat"
        return self._ask(Ask(method="POST", path=path, body=dict(body), read_s=read_s))

    def complete(self, execution_id: str, body: Mapping[str, Any]) -> Json:
        """End an attempt: it succeeded. The same report again is answered with the execution again."""
        return self._post(f"{_execution(execution_id)}/complete", dict(body))

    def fail(self, execution_id: str, body: Mapping[str, Any]) -> Json:
        """End an attempt: it failed, asks to be retried later, or was not run."""
        return self._post(f"{_execution(execution_id)}/fail", dict(body))

    def another(self, *, connections: int, patience: Patience | None = None) -> "Client":
        """The same view over connections of its own, which can be cut by themselves, and with another patience."""
        made = object.__new__(Client)
        made._connection = self._connection.another(connections, patience)
        return made

    def cut(self) -> None:
        """End every call that is pending: each raises Unreachable."""
        self._connection.cut()

    def close(self) -> None:
        """Close the connections that are at rest."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Closes at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    # --------------------------------------------------------------------------------------- sending

    def _get(self, path: str) -> Json:
        return self._ask(Ask(method="GET", path=path, may_repeat=True))

    def _post(self, path: str, body: Json) -> Json:
        return self._ask(Ask(method="POST", path=path, body=body, may_repeat=True))

    def _create(self, path: str, body: Json, idempotency_key: str | None) -> Json:
        key = token() if idempotency_key is None else idempotency_key
        headers = {"Idempotency-Key": key}
        return self._ask(Ask(method="POST", path=path, body=body, headers=headers, may_repeat=True))

    def _pages(self, path: str, member: str, query: Mapping[str, str]) -> Iterator[Json]:
        after: str | None = None
        for _ in range(_PAGES_MAX):
            more = {} if after is None else {"nextToken": after}
            page = self._ask(Ask(method="GET", path=path, query={**query, **more}, may_repeat=True))
            yield from page[member]
            after = page["nextToken"]
            if after is None:
                return
        raise RuntimeError(f"{path} has over {_PAGES_MAX} pages.")

    def _ask(self, asked: Ask) -> Json:
        found: Json = self._connection.ask(asked)
        return found


def _job(job_id: str) -> str:
    return f"/v1/jobs/{_step(job_id)}"


def _execution(execution_id: str) -> str:
    return f"/v1/executions/{_step(execution_id)}"


def _step(name: str) -> str:
    return quote(name, safe=":~")
