"""The API from a program: submit a job, look at it, pause it, run it now, and what a worker reports.

Must not know how a request is sent (sending.py), nor what is done with the dead (dead_letters.py). Answers are the
API's own JSON as dictionaries: openapi.json names every member. Promise: SEM-SDK-10.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from tickwright_sdk.connection import STANDARD, Ask, Connection, Patience, Wait
from tickwright_sdk.dead_letters import DeadLetters
from tickwright_sdk.sending import Json, Sending, execution_path, step


class Client:
    """One tenant's view of an installation."""

    def __init__(
        self, url: str, key: str, *, patience: Patience = STANDARD, wait: Wait | None = None, connections: int = 8
    ) -> None:
        """`url` as the stack's output says it, `key` an API key of the tenant; nothing is sent yet."""
        self._connection = Connection(url, key, patience=patience, wait=wait, connections=connections)
        self._sending = Sending(self._connection)

    def __repr__(self) -> str:
        """Without the key."""
        return f"Client({self._connection!r})"

    @property
    def url(self) -> str:
        """Where the API is."""
        return self._connection.origin

    def health(self) -> Json:
        """Whether the API answers; it takes no key."""
        return self._sending.get("/v1/health")

    # ------------------------------------------------------------------------------------------ jobs

    def submit(self, job: Mapping[str, Any], *, idempotency_key: str | None = None) -> Json:
        """Submit a job; the answer is the job. With a key of one's own a later repeat creates nothing either."""
        return self._sending.create("/v1/jobs", dict(job), idempotency_key)

    def job(self, job_id: str) -> Json:
        """A job."""
        return self._sending.get(_job(job_id))

    def jobs(self, *, prefix: str = "", status: str | None = None, tag: str | None = None) -> Iterator[Json]:
        """Every job, by name; page after page as they are asked for."""
        query = {"prefix": prefix, "status": status, "tag": tag}
        return self._sending.pages("/v1/jobs", "jobs", {name: value for name, value in query.items() if value})

    def pause(self, job_id: str) -> Json:
        """Let a job fire no more until it is resumed."""
        return self._sending.post(f"{_job(job_id)}/pause", {})

    def resume(self, job_id: str) -> Json:
        """Let a paused job fire again."""
        return self._sending.post(f"{_job(job_id)}/resume", {})

    def cancel(self, job_id: str) -> Json:
        """End a job and cancel what of it is unfinished."""
        return self._sending.ask(Ask(method="DELETE", path=_job(job_id), may_repeat=True))

    def run(self, job_id: str, *, idempotency_key: str | None = None) -> Json:
        """Run a job now, outside its schedule; the answer is the execution."""
        return self._sending.create(f"{_job(job_id)}/run", {}, idempotency_key)

    # ------------------------------------------------------------------------------------ executions

    def execution(self, execution_id: str) -> Json:
        """An execution."""
        return self._sending.get(execution_path(execution_id))

    def executions(self, job_id: str) -> Iterator[Json]:
        """A job's executions, newest first; page after page as they are asked for."""
        return self._sending.pages(f"{_job(job_id)}/executions", "executions")

    def explain(self, execution_id: str) -> Json:
        """What an execution waits for."""
        return self._sending.get(f"{execution_path(execution_id)}/explanation")

    def logs(self, execution_id: str) -> Iterator[Json]:
        """The end of what each of its attempts has said, newest first."""
        return self._sending.pages(f"{execution_path(execution_id)}/logs", "logs")

    def cancel_execution(self, execution_id: str) -> Json:
        """Cancel an execution; one that runs is asked to stop."""
        return self._sending.post(f"{execution_path(execution_id)}/cancel", {})

    def redrive(self, execution_id: str, *, idempotency_key: str | None = None) -> Json:
        """Give a dead execution its attempts anew."""
        return self._sending.create(f"{execution_path(execution_id)}/redrive", {}, idempotency_key)

    @property
    def dead_letters(self) -> DeadLetters:
        """What has died, and what to do with it."""
        return DeadLetters(self._sending)

    # --------------------------------------------------------------------------------------- workers

    def pool(self, name: str) -> Json:
        """A pool."""
        return self._sending.get(f"/v1/pools/{step(name)}")

    def pools(self) -> Iterator[Json]:
        """Every pool, by name."""
        return self._sending.pages("/v1/pools", "pools")

    def put_pool(self, name: str, *, description: str | None = None) -> Json:
        """Create a pool, or change what it says."""
        body = {} if description is None else {"description": description}
        return self._sending.ask(Ask(method="PUT", path=f"/v1/pools/{step(name)}", body=body, may_repeat=True))

    def claim(self, pool: str, asked: Mapping[str, Any], *, read_s: float) -> Json:
        """Claim executions of a pool. Sent once: whoever polls repeats it, under its requestId, if not to stop."""
        return self._sending.ask(
            Ask(method="POST", path=f"/v1/pools/{step(pool)}/claim", body=dict(asked), read_s=read_s)
        )

    def heartbeat(self, execution_id: str, body: Mapping[str, Any], *, read_s: float | None = None) -> Json:
        """Keep the lease of an attempt. Sent once: the next heartbeat is its repeat."""
        path = f"{execution_path(execution_id)}/heartbeat"
        return self._sending.ask(Ask(method="POST", path=path, body=dict(body), read_s=read_s))

    def complete(self, execution_id: str, body: Mapping[str, Any]) -> Json:
        """End an attempt: it succeeded. The same report again is answered with the execution again."""
        return self._sending.post(f"{execution_path(execution_id)}/complete", dict(body))

    def fail(self, execution_id: str, body: Mapping[str, Any]) -> Json:
        """End an attempt: it failed, asks to be retried later, or was not run."""
        return self._sending.post(f"{execution_path(execution_id)}/fail", dict(body))

    def another(self, *, connections: int, patience: Patience | None = None) -> "Client":
        """The same view over connections of its own, which can be cut by themselves, and with another patience."""
        made = object.__new__(Client)
        made._connection = self._connection.another(connections, patience)
        made._sending = Sending(made._connection)
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


def _job(job_id: str) -> str:
    return f"/v1/jobs/{step(job_id)}"
