"""The dead letters of a tenant: look, group, run again as they were or with another payload, give up.

Must not know what makes an execution dead (docs/dead-letters.md). Its key needs the scope `dead-letters`. Answers are
the API's own JSON. Promise: SEM-SDK-16.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tickwright_sdk.arguments import several
from tickwright_sdk.sending import Json, Sending, execution_path, instant_text, step

_LETTERS = "/v1/dead-letters"
_REDRIVES = f"{_LETTERS}/redrives"
_UNSAID: Final = object()  # a payload may be None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """Which dead executions; what is left out does not matter.

    One that names nothing means all in a list. An order or a discard takes it only with `everything`, so that a filter
    that came out empty does not mean everybody. `reason`: failed, fatal, timed_out, lease_expired, expired or
    pool_deleted.
    """

    job_id: str | None = None
    fingerprint: str | None = None
    error_class: str | None = None
    reason: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    everything: bool = False

    def query(self) -> dict[str, str]:
        """As the list takes it."""
        named = {
            "jobId": self.job_id,
            "fingerprint": self.fingerprint,
            "errorClass": self.error_class,
            "reason": self.reason,
            "since": None if self.since is None else instant_text(self.since),
            "until": None if self.until is None else instant_text(self.until),
        }
        return {name: text for name, text in named.items() if text is not None}

    def body(self) -> Json:
        """As an order and a discard take it. Raises ValueError for one that names nothing and does not mean all."""
        query = self.query()
        if not query and not self.everything:
            raise ValueError("which are meant? Dead(...) names none; all that has died is Dead(everything=True)")
        return ({"filter": query} if query else {}) | ({"all": True} if self.everything else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The first so many of an order are waited for; if more of them die than may, it stops."""

    first: int
    failures_max: int = 0


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """What has died of one tenant; `client.dead_letters` is one."""

    sending: Sending

    # ------------------------------------------------------------------------------------------ looking

    def find(self, which: Dead = Dead()) -> Iterator[Json]:
        """Those dead executions, newest death first; page after page as they are asked for."""
        return self.sending.pages(_LETTERS, "deadLetters", which.query())

    def groups(self, which: Dead = Dead(), *, limit: int = 50) -> Json:
        """Them by what they died of, the biggest group first, and how many groups there are."""
        return self.sending.get(f"{_LETTERS}/groups", which.query() | {"limit": str(limit)})

    def get(self, execution_id: str) -> Json:
        """One of them with what it was given; secrets are masked."""
        return self.sending.get(f"{_LETTERS}/{step(execution_id)}")

    # ----------------------------------------------------------------------------------- running again

    def redrive(
        self,
        which: Dead,
        *,
        rate_per_min: int | None = None,
        canary: Canary | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Order that those be redriven, so many a minute; the order. It means what is dead by now.

        One alone is redriven by `client.redrive`.
        """
        body = which.body()
        if rate_per_min is not None:
            body["ratePerMin"] = rate_per_min
        if canary is not None:
            body["canary"] = {"first": canary.first, "failuresMax": canary.failures_max}
        return self.sending.create(_REDRIVES, body, idempotency_key)

    def would_redrive(self, which: Dead) -> Json:
        """How many such an order would begin with, and a few of them; nothing is written."""
        return self.sending.post(_REDRIVES, which.body() | {"dryRun": True})

    def orders(self) -> Sequence[Json]:
        """The orders, newest first: those that run, and those that have ended within a week."""
        found: Sequence[Json] = self.sending.get(_REDRIVES)["orders"]
        return found

    def order(self, order_id: str) -> Json:
        """How far an order is."""
        return self.sending.get(f"{_REDRIVES}/{step(order_id)}")

    def cancel_order(self, order_id: str) -> Json:
        """End an order; once that is answered it redrives nothing more."""
        return self.sending.post(f"{_REDRIVES}/{step(order_id)}/cancel", {})

    def rerun(
        self,
        execution_id: str,
        *,
        payload: Any = _UNSAID,  # noqa: ANN401 - any JSON
        patch: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Run one again as a new execution with another payload, or with a merge patch (RFC 7396) of the one it had.

        The dead one is discarded with that, for this reason.
        """
        body: Json = {} if payload is _UNSAID else {"payload": payload}
        if patch is not None:
            body["patch"] = dict(patch)
        if reason is not None:
            body["reason"] = reason
        return self.sending.create(f"{execution_path(execution_id)}/rerun", body, idempotency_key)

    # --------------------------------------------------------------------------------------- giving up

    def discard(self, execution_ids: Sequence[str], *, reason: str) -> Json:
        """Give up up to a hundred by name, for a reason that is kept; an outcome each."""
        named = list(several("discard", execution_ids))
        return self.sending.post(f"{_LETTERS}/discard", {"executionIds": named, "reason": reason})

    def discard_found(self, which: Dead, *, reason: str) -> Json:
        """Give up those that are dead now, up to 500; where the answer says `more`, ask again."""
        return self.sending.post(f"{_LETTERS}/discard", which.body() | {"reason": reason})

    def would_discard(self, which: Dead) -> Json:
        """How many that would be, and a few of them; nothing is written."""
        return self.sending.post(f"{_LETTERS}/discard", which.body() | {"dryRun": True})
