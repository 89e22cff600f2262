"""The demo of `make run`: a tenant with a key, handlers of a few lines, and the jobs that show what the product does.

Jobs go in through the API, as a tenant's would. One-off ones are new at each start; the recurring ones have names and
stay.
"""

import json
import os
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tickwright.api.call import Api
from tickwright.api.exchange import Request
from tickwright.api.keys import hash_of, make_key
from tickwright.api.routes import ROUTES
from tickwright.api.service import answer
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.tenants import Scope
from tickwright.services.kit import Kit
from tickwright_sdk import Context, Registry

TENANT = TenantId("demo")
_KEY_FILE = "demo.key"
_FAILURES = 2


async def demo_key(kit: Kit, folder: Path) -> str:
    """The demo tenant's key.

    Made once, kept beside the data for its owner alone, since the store holds only its hash.
    """
    path = folder / _KEY_FILE
    if path.exists():
        secret = path.read_text().strip()
        if await kit.store.api_key(hash_of(secret)) is not None:
            return secret
    scopes = frozenset(Scope) - {Scope.ADMIN}
    secret, _ = await make_key(kit, TENANT, scopes=scopes, label="demo")
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")
    return secret


def demo_handlers() -> Registry:
    """The handlers that the demo's jobs call, and that a curl of your own may."""
    registry = Registry()

    @registry.job("demo.greet")
    def greet(payload: object, ctx: Context) -> object:
        return {"hello": payload, "scheduledTime": ctx.scheduled_time.isoformat()}

    @registry.job("demo.recover")
    async def recover(payload: object, ctx: Context) -> object:
        if ctx.attempt <= _FAILURES:
            raise ConnectionError(f"attempt {ctx.attempt} fails on purpose; the third succeeds")
        return {"attempts": ctx.attempt, "payload": payload}

    @registry.job("demo.break")
    async def give_in(payload: object, ctx: Context) -> object:
        raise ValueError(f"attempt {ctx.attempt} on {payload!r} fails, as all do")

    return registry


async def submit_demo(api: Api, secret: str, labels: dict[str, str]) -> None:
    """Submit the demo's jobs, cancel one, and note their labels by job id."""
    caller = _Caller(api=api, secret=secret)
    listed = await caller.call("GET", "/v1/jobs", None)
    labels |= {job["jobId"]: job["name"].removeprefix("demo-") for job in listed["jobs"] if job.get("name")}
    for name, body in _jobs(api.kit.clock.now()).items():
        job = await caller.call("POST", "/v1/jobs", body, key=f"{name}-{api.kit.entropy.token()}")
        if "jobId" in job:
            labels[job["jobId"]] = name
        if name == "cancelled":
            await caller.call("DELETE", f"/v1/jobs/{job['jobId']}", None)


def _jobs(now: Instant) -> dict[str, dict[str, Any]]:
    def job(handler: str, schedule: dict[str, Any], **more: object) -> dict[str, Any]:
        return {"schedule": schedule, "target": {"type": "python", "handler": f"demo.{handler}"}, **more}

    def soon(seconds: int) -> dict[str, Any]:
        return {"runAt": to_rfc3339(Instant(now + seconds * 1_000))}

    quick = {"maxAttempts": 3, "backoff": {"initialSec": 1, "maxSec": 2}}
    return {
        "one-off": job("greet", soon(5), payload="one-off", description="one-off in 5 s", priority="high"),
        "every-10s": job("greet", {"every": "PT10S"}, payload="every 10 s", name="demo-every-10s"),
        "cron": job("greet", {"cron": "* * * * *", "timezone": "Europe/Berlin"}, payload="cron", name="demo-cron"),
        "flaky": job("recover", soon(6), retryPolicy=quick, description="fails twice, then succeeds"),
        "dead": job("break", soon(7), retryPolicy=quick | {"maxAttempts": 2}, description="ends in the dead letters"),
        "cancelled": job("greet", soon(4), payload="never", description="cancelled before its time"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caller:
    api: Api
    secret: str

    async def call(self, method: str, path: str, body: object, *, key: str | None = None) -> dict[str, Any]:
        """Call the API as a tenant does. A recurring job's name is taken from the second start on."""
        headers = {"authorization": f"Bearer {self.secret}", "content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        raw = b"" if body is None else json.dumps(body).encode()
        response = await answer(self.api, Request(method=method, path=path, headers=headers, body=raw), ROUTES)
        found: dict[str, Any] = json.loads(response.body)
        if response.status >= HTTPStatus.BAD_REQUEST and found.get("code") != "name_taken":
            raise RuntimeError(f"The demo's {method} {path} was refused: {found}")
        return found
