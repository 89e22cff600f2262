"""The API from a program: submit a job, look at it, pause it, run it now, and what a worker reports.

Must not know how a request is sent (sending.py), nor what is done with the dead (dead_letters.py). Answers are the
API's own JSON as dictionaries: openapi.json names every member. Promise: SEM-SDK-10.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from tickwright_sdk.arguments import an_object
from tickwright_sdk.calendars import Calendars
from tickwright_sdk.connection import STANDARD, Ask, Connection, Patience, Wait
from tickwright_sdk.dead_letters import DeadLetters
from tickwright_sdk.editing import Edits
from tickwright_sdk.sending import Json, Sending, execution_path, if_match, instant_text, step


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

    def me(self) -> Json:
        """Whose key this is, and what it may do."""
        return self._sending.get("/v1/me")

    def webhook_secret(self) -> Json:
        """The secret that requests of this tenant's jobs are signed with."""
        return self._sending.get("/v1/webhook-secret")

    def rotate_webhook_secret(self, number: int) -> Json:
        """Sign with a new secret, and for a day with the old one as well; `number`: that of the one that was read."""
        return self._sending.post("/v1/webhook-secret/rotate", {"number": number})

    # ------------------------------------------------------------------------------------- schedules

    def preview(self, schedule: Mapping[str, Any], *, count: int = 10, after: datetime | None = None) -> Json:
        """What a schedule will do: so many ticks after an instant, or after now; nothing is kept."""
        an_object("a schedule", schedule)
        start = {} if after is None else {"from": instant_text(after)}
        return self._sending.post("/v1/schedules/preview", {"schedule": dict(schedule), "count": count} | start)

    def herd(self, *, start: datetime | None = None, end: datetime | None = None) -> Json:
        """How many ticks each minute of the coming day has."""
        given = {"from": start, "to": end}
        return self._sending.get("/v1/herd", {name: instant_text(at) for name, at in given.items() if at is not None})

    def zone_changes(self) -> Iterator[Json]:
        """The jobs whose next tick new zone rules have moved."""
        return self._sending.pages("/v1/zone-changes", "changes")

    @property
    def calendars(self) -> Calendars:
        """The calendars that schedules name."""
        return Calendars(self._sending)

    # ------------------------------------------------------------------------------------------ jobs

    def submit(self, job: Mapping[str, Any], *, idempotency_key: str | None = None) -> Json:
        """Submit a job; the answer is the job. With a key of one's own a later repeat creates nothing either.

        While the installation's store does not answer it may be what was accepted instead: `status` is `accepted`, and
        the same again, with the same key, says what has become of it.
        """
        an_object("a job", job)
        return self._sending.create("/v1/jobs", dict(job), idempotency_key)

    def submit_many(self, jobs: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Sequence[Json]:
        """Submit up to a hundred; an outcome each, in their order."""
        for job in jobs:
            an_object("each of these jobs", job)
        body = {"jobs": [dict(job) for job in jobs]}
        outcomes: Sequence[Json] = self._sending.create("/v1/jobs/batch", body, idempotency_key)["outcomes"]
        return outcomes

    def would_submit(self, job: Mapping[str, Any]) -> Json:
        """What the job would be; nothing is written."""
        an_object("a job", job)
        asked = Ask(method="POST", path="/v1/jobs", body=dict(job), query={"validateOnly": "true"}, may_repeat=True)
        return self._sending.ask(asked)

    @property
    def edits(self) -> Edits:
        """Edits of jobs: `replace` the whole, or `change` some members, by the `etag` of the job that was read."""
        return Edits(self._sending)

    def versions(self, job_id: str) -> Iterator[Json]:
        """A job's versions, newest first; an edit that waits is one."""
        return self._sending.pages(f"{_job(job_id)}/versions", "versions")

    def version(self, job_id: str, number: int) -> Json:
        """One version of a job."""
        return self._sending.get(f"{_job(job_id)}/versions/{number}")

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

    def needing_attention(self) -> Iterator[Json]:
        """The executions that are dead and not discarded, newest first."""
        return self._sending.pages("/v1/executions", "executions", {"attention": "true"})

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
        """Create a pool, or change what it says. A Conflict `pool_rests`: it was deleted less than 90 s ago."""
        body = {} if description is None else {"description": description}
        return self._sending.ask(Ask(method="PUT", path=f"/v1/pools/{step(name)}", body=body, may_repeat=True))

    def delete_pool(self, name: str, *, force: bool = False, etag: str | None = None) -> Json:
        """Delete a pool with its queues. A Conflict `pool_in_use`: a job names it, or a run waits in it.

        `force`: though runs wait in it, which then end dead (`pool_deleted`). Sent again it goes on.
        """
        query, path = {"force": "true"} if force else {}, f"/v1/pools/{step(name)}"
        asked = Ask(method="DELETE", path=path, query=query, headers=if_match(etag), may_repeat=etag is None)
        return self._sending.ask(asked)

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
