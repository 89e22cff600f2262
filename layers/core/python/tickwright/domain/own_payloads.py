"""The payload of an execution that was run again with another than its job's: kept beside it, as long as it may run.

Must not know a store. It is written in one transaction with its execution, and a redrive of that one keeps it longer.
Promise: SEM-DLQ-3.
"""

from dataclasses import dataclass, replace

from tickwright.domain import limits
from tickwright.domain.ids import ExecutionRef, TenantId
from tickwright.domain.instants import Instant

_MARGIN_S = 86_400  # what no clock is wrong by


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPayload:
    """What one execution is given in place of its job's payload."""

    ref: ExecutionRef
    tenant_id: TenantId
    payload: str  # JSON text
    expires_at: Instant
    secrets: tuple[str, ...] = ()  # pointers to what of it was secret in the run it was made from


def kept_until(run_deadline_at: Instant, retention_s: int) -> Instant:
    """How long it may be asked for: the row's whole life, if it ends at its deadline by an attempt of the longest.

    A row is kept for its retention after its end, and can be redriven as long.
    """
    return Instant(run_deadline_at + 1_000 * (limits.TIMEOUT_S_MAX + retention_s + _MARGIN_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOwnPayload:
    """Keep a payload beside its execution, which is inserted in the same transaction."""

    payload: OwnPayload

    @property
    def ref(self) -> ExecutionRef:
        """Whose payload it is."""
        return self.payload.ref

    def decide(self, old: OwnPayload | None) -> OwnPayload | None:
        """Its execution's key is fresh, so there is none."""
        return self.payload if old is None else None

    def mine(self, old: OwnPayload) -> bool:
        """The same: nobody else uses the key."""
        return old == self.payload


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOwnPayload:
    """Keep a payload longer: its execution is opened again in the same transaction."""

    ref: ExecutionRef
    expires_at: Instant

    def decide(self, old: OwnPayload | None) -> OwnPayload | None:
        """Only what is there."""
        return None if old is None else replace(old, expires_at=self.expires_at)

    def mine(self, old: OwnPayload) -> bool:
        """A repeat passes its own condition, so a refusal is a refusal."""
        return old.expires_at == self.expires_at
