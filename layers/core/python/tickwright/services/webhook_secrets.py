"""What a tenant's endpoints check our signatures with: read it, go on to the next, and sign with what is in use.

Must not know HTTP. A rotation names the number that it was asked from, so that one whose answer was lost, or that two
people ask for at once, is done once. Promise: SEM-SIGN-1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.webhooks import FIRST, PutRotation, Rotation, WebhookSecret, numbers_in_use, secret_of
from tickwright.ports.faults import Unavailable
from tickwright.ports.store import Applied
from tickwright.services.kit import Kit

# How long a worker goes by what it has read: the secret before is good for a day, so nobody waits for the new one.
_KEPT_MS = 30_000
UNSIGNED = Refusal(code=Code.NOT_FOUND, detail="This installation signs nothing; ask whoever runs it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """A tenant's newest secret; the one before, and until when it is used as well."""

    newest: WebhookSecret
    before: WebhookSecret | None
    before_until: Instant | None


async def get_signing(kit: Kit, key: bytes, tenant_id: TenantId) -> Signing | Refusal:
    """What the tenant's requests are signed with."""
    if not key:
        return UNSIGNED
    return _signing(kit, key, tenant_id, await kit.store.webhook_rotation(tenant_id))


async def rotate(kit: Kit, key: bytes, tenant_id: TenantId, *, seen: int) -> Signing | Refusal:
    """Go on from the number that was seen; done already is as good as done."""
    if not key:
        return UNSIGNED
    rotation = Rotation(tenant_id=tenant_id, number=seen + 1, rotated_at=kit.clock.now())
    outcome = await kit.store.write(PutRotation(rotation=rotation))
    if isinstance(outcome, Applied):
        return _signing(kit, key, tenant_id, rotation)
    if outcome.old is not None and outcome.old.number == seen + 1:
        return _signing(kit, key, tenant_id, outcome.old)
    stands_at = FIRST if outcome.old is None else outcome.old.number
    detail = f"The secret in use has the number {stands_at}; read it again, and rotate from that."
    return Refusal(code=Code.VERSION_CONFLICT, detail=detail)


def _signing(kit: Kit, key: bytes, tenant_id: TenantId, rotation: Rotation | None) -> Signing:
    newest, *before = numbers_in_use(rotation, kit.clock.now())
    until = None if rotation is None or not before else rotation.rotated_at + limits.WEBHOOK_OVERLAP_S * 1_000
    return Signing(
        newest=secret_of(key, tenant_id, newest),
        before=secret_of(key, tenant_id, before[0]) if before else None,
        before_until=None if until is None else Instant(until),
    )


@dataclass(slots=True, kw_only=True)
class SecretsInUse:
    """What a worker signs with, read again now and then. Raises Unavailable for a tenant that it has never read."""

    kit: Kit
    key: bytes
    _read: dict[TenantId, tuple[int, Sequence[WebhookSecret]]] = field(default_factory=dict)

    async def of(self, tenant_id: TenantId) -> Sequence[WebhookSecret]:
        """The newest secret, and the one before while it is good."""
        now_ms = self.kit.clock.monotonic_ms()
        read_ms, secrets = self._read.get(tenant_id, (now_ms - _KEPT_MS, ()))
        if now_ms - read_ms < _KEPT_MS:
            return secrets
        try:
            rotation = await self.kit.store.webhook_rotation(tenant_id)
        except Unavailable:
            if not secrets:
                raise
            return secrets  # a day old at most before it matters
        numbers = numbers_in_use(rotation, self.kit.clock.now())
        fresh = [secret_of(self.key, tenant_id, number) for number in numbers]
        self._read[tenant_id] = (now_ms, fresh)
        return fresh
