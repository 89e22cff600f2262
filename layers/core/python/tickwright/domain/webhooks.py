"""How a request to a tenant's endpoint is signed, by the rules of Standard Webhooks, and with which secret.

Every secret follows from the installation's key, the tenant and a number, so none is stored; the next number makes a
new one. Must not know HTTP. Promise: SEM-SIGN-1.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant

PREFIX = "whsec_"
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
