"""Who may call, and what a repeated request is: tenants, API keys and idempotency records.

Must not know HTTP. The tenant comes from the credential alone (SEM-TENANT-1); a key is kept as a hash (SEM-KEY-1);
the record of a request is written in the same transaction as what the request created (SEM-IDEM-1).
"""

from dataclasses import dataclass
from enum import Enum

from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant


class Scope(Enum):
    """What a key may do."""

    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    EXECUTIONS_RUN = "executions:run"
    DEAD_LETTERS = "dead-letters"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One key: the SHA-256 of its secret in hex, its tenant, what it may do and until when.

    `revoked` says by itself that it is over: its end was written by another clock than the one it is judged by.
    `made_by`: who made it, by their own account of themselves, for people to read: nothing is decided by it.
    """

    key_hash: str
    tenant_id: TenantId
    scopes: frozenset[Scope]
    label: str
    created_at: Instant
    expires_at: Instant | None = None
    revoked: bool = False
    made_by: str | None = None

    def is_valid(self, now: Instant) -> bool:
        """Whether it still opens the door."""
        return not self.revoked and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """What a request with this key has created; `expires_at` decides, since a store's own expiry is late.

    `kept_until`: it may be asked for longer than it counts, by what was accepted while it did.
    """

    tenant_id: TenantId
    key: str  # method and path and the caller's key: a key is never shared by two operations
    body_hash: str
    job_id: JobId
    answer: str  # the answer's body, to be given again
    expires_at: Instant
    token: str  # fresh for each request: tells a lost reply from a second request
    kept_until: Instant | None = None

    def counts(self, now: Instant) -> bool:
        """Whether a request with this key is still the same request."""
        return self.expires_at > now

    @property
    def forgotten_at(self) -> Instant:
        """When it may go."""
        return self.expires_at if self.kept_until is None else self.kept_until


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRecord:
    """A job's name within its tenant; `released` once the job is over or has another name."""

    tenant_id: TenantId
    name: str
    job_id: JobId
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PutIdempotency:
    """Note a request, where none of this key is noted, or the noted one has expired."""

    record: IdempotencyRecord
    now: Instant

    def decide(self, old: IdempotencyRecord | None) -> IdempotencyRecord | None:
        """Absent or expired."""
        return self.record if old is None or not old.counts(self.now) else None

    def mine(self, old: IdempotencyRecord) -> bool:
        """The token is fresh for each request."""
        return old.token == self.record.token


@dataclass(frozen=True, slots=True, kw_only=True)
class PutName:
    """Take a name within a tenant, or (a record that is `released`) give it up."""

    record: NameRecord

    def decide(self, old: NameRecord | None) -> NameRecord | None:
        """Free, released, or already this job's."""
        free = old is None or old.released or old.job_id == self.record.job_id
        return self.record if free else None

    def mine(self, old: NameRecord) -> bool:
        """The same job's, in the same state."""
        return old == self.record
