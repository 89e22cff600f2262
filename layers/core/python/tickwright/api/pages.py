"""Where a list goes on: tokens that a caller cannot read as ours, change, or use for another list.

Must not know what is listed. A token is bound to its tenant, its list and the list's filters. Promise: SEM-API-5.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass

from tickwright.api.problems import invalid
from tickwright.domain.ids import TenantId

_MAC_BYTES = 16
_PURPOSE = b"tickwright page token 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListName:
    """Which list a token belongs to: whose, at which path, with which filters. A page's size may change on the way."""

    tenant_id: TenantId
    path: str
    filters: tuple[tuple[str, str], ...] = ()


def page_token(secret: bytes, name: ListName, key: str) -> str:
    """The token of the page that begins after `key`."""
    text = key.encode()
    return base64.urlsafe_b64encode(_mac(secret, name, text) + text).decode().rstrip("=")


def key_of_token(secret: bytes, name: ListName, token: str) -> str:
    """The key that a token holds, or Refused: it is not ours, or belongs to another list."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    mac, text = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret, name, text)):
        remedy = "It does not belong to this list and its filters; begin again without it."
        raise invalid("query:nextToken", "bad_token", remedy)
    return text.decode()


def _mac(secret: bytes, name: ListName, text: bytes) -> bytes:
    key = hmac.digest(secret, _PURPOSE, hashlib.sha256)
    bound = json.dumps([name.tenant_id, name.path, sorted(name.filters)]).encode()
    return hmac.digest(key, len(bound).to_bytes(4, "big") + bound + text, hashlib.sha256)[:_MAC_BYTES]
