"""How a request to a tenant's endpoint is signed, by the rules of Standard Webhooks, and with which secret.

Every secret follows from the installation's key, the tenant and a number, so none is stored; a rotation goes on to the
next number, and the one before is good for a day more. Must not know HTTP. Promise: SEM-SIGN-1.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant

PREFIX = "whsec_"
FIRST = 1
# The names that the rules give them.
ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER = "webhook-id", "webhook-timestamp", "webhook-signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecret:
    """What one tenant's endpoints check signatures with; shown as text, used as bytes."""

    number: int
    raw: bytes

    @property
    def text(self) -> str:
        """The form in which it is handed over."""
        return PREFIX + base64.b64encode(self.raw).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """The last rotation of a tenant's secret: where there is none, the first secret is the one."""

    tenant_id: TenantId
    number: int
    rotated_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRotation:
    """Go on to the next number, from the one that was seen; an import goes on from `over` to any."""

    rotation: Rotation
    over: int | None = None

    @property
    def seen(self) -> int | None:
        """What must stand there; None where there has been no rotation."""
        before = self.rotation.number - 1 if self.over is None else self.over
        return None if before == FIRST else before

    def decide(self, old: Rotation | None) -> Rotation | None:
        """As it was seen."""
        return self.rotation if self.seen == (None if old is None else old.number) else None

    def mine(self, old: Rotation) -> bool:
        """Whoever has written the very same has written this."""
        return old == self.rotation


def numbers_in_use(rotation: Rotation | None, now: Instant) -> tuple[int, ...]:
    """The newest, and for a while the one before: whoever has not changed yet still knows us."""
    if rotation is None:
        return (FIRST,)
    if now < rotation.rotated_at + limits.WEBHOOK_OVERLAP_S * 1_000:
        return (rotation.number, rotation.number - 1)
    return (rotation.number,)


def secret_of(key: bytes, tenant_id: TenantId, number: int) -> WebhookSecret:
    """A tenant's secret of this number."""
    assert key, "without a key anybody could sign"
    raw = hmac.digest(key, f"webhook/{tenant_id}/{number}".encode(), hashlib.sha256)
    return WebhookSecret(number=number, raw=raw)


def signed_headers(message_id: str, body: bytes, *, at: Instant, secrets: Sequence[WebhookSecret]) -> Mapping[str, str]:
    """The three headers; a signature for each secret, so that both the old and the new one are good for a while."""
    seconds = at // 1_000
    signed = f"{message_id}.{seconds}.".encode() + body
    signatures = [base64.b64encode(hmac.digest(secret.raw, signed, hashlib.sha256)).decode() for secret in secrets]
    return {
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: str(seconds),
        SIGNATURE_HEADER: " ".join(f"v1,{signature}" for signature in signatures),
    }
