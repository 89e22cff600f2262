"""A call of a handler as a job: once, now or at a time.

Must not know how a handler is registered. Promise: SEM-SDK-10.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tickwright_sdk.client import Client
from tickwright_sdk.handlers import Submitted
from tickwright_sdk.machine import Clock, MachineClock
from tickwright_sdk.problems import Conflict, Invalid
from tickwright_sdk.sending import instant_text
from tickwright_sdk.terms import Terms, terms_body, without

# A run needs an instant that is still to come where it arrives: so far two clocks and a request are apart, else more.
_AHEAD_MS, _FAR_AHEAD_MS = 2_000, 60_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")  # as the API takes it; a key may be any text
_KEY = re.compile(r"[\x21-\x7E]{1,255}")  # as the API takes an Idempotency-Key
_HANDLER_CHARS = 95  # what a slash and 32 signs of the hash leave of 128


class OtherCall(ValueError):  # noqa: N818 - says what is the matter
    """Another call was submitted under this key; nothing was submitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    """Submits for the handlers of a tenant's own pool; without one, for those of the platform's workers."""

    client: Client
    pool: str | None = None
    clock: Clock = field(default_factory=MachineClock)

    def submit_call(
        self, handler: str, payload: str, *, key: str | None, run_at: datetime | None, terms: Terms
    ) -> Submitted:
        """Submit it; the same key again answers the same job. `run_at` None is now."""
        job: dict[str, Any] = {"target": self._target(handler), "payload": json.loads(payload)}
        job |= terms_body(terms)
        if run_at is not None:
            return _submitted(self.client.submit(job | _once(run_at), idempotency_key=_sent(key)))
        if key is None:
            return self._now(job, None)
        named = {"name": name_of(handler, key)} | job
        try:
            return self._now(named, key)
        except (Conflict, Invalid) as refused:
            # The key was used before, for an instant that was now then: the job's name finds it.
            if refused.code not in {"idempotency_key_reused", "name_taken"}:
                raise
            return self._found(named)

    def _now(self, job: dict[str, Any], key: str | None) -> Submitted:
        """Now, by this machine's clock; a minute ahead if that is behind."""
        try:
            return _submitted(self.client.submit(job | self._ahead(_AHEAD_MS), idempotency_key=_sent(key)))
        except Invalid as refused:
            if "in_the_past" not in {error.code for error in refused.errors}:
                raise
            return _submitted(self.client.submit(job | self._ahead(_FAR_AHEAD_MS), idempotency_key=_sent(key)))

    def _found(self, job: dict[str, Any]) -> Submitted:
        for summary in self.client.jobs(prefix=job["name"]):
            if summary["name"] == job["name"]:
                whole = self.client.job(summary["jobId"])
                hidden = [*job.get("secrets", ()), *(whole.get("secrets") or ())]
                if without(whole, hidden) != without(job, hidden):
                    raise OtherCall(f"{job['name']!r} was submitted before, with another payload: take another key.")
                return _submitted(whole)
        raise OtherCall(f"{job['name']!r} was submitted before, and is forgotten by now: take another key.")

    def _ahead(self, ahead_ms: int) -> dict[str, Any]:
        return _once(datetime.fromtimestamp((self.clock.now_ms() + ahead_ms) / 1_000, UTC))

    def _target(self, handler: str) -> dict[str, Any]:
        if self.pool is None:
            return {"type": "python", "handler": handler}
        return {"type": "pool", "pool": self.pool, "handler": handler}


def name_of(handler: str, key: str) -> str:
    """The job's name: it says handler and key where they are a name as the API takes it, else a hash of the key."""
    plain = f"{handler}/{key}"
    if _NAME.fullmatch(plain):
        return plain
    return f"{handler[:_HANDLER_CHARS]}/{hashlib.sha256(plain.encode()).hexdigest()[:32]}"


def _sent(key: str | None) -> str | None:
    """The key as a header may have it: any text is one, and what is not sendable is its hash."""
    if key is None or _KEY.fullmatch(key):
        return key
    return f"sha256-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _once(at: datetime) -> dict[str, Any]:
    return {"schedule": {"runAt": instant_text(at)}}


def _submitted(job: dict[str, Any]) -> Submitted:
    return Submitted(job_id=job["jobId"], body=job)
