"""How an API key is made, and how the key in a request is looked up.

Must not know what a key is used for. Only its SHA-256 is kept: 256 random bits need no slow hash. The tenant comes from
the key alone (SEM-TENANT-1, SEM-KEY-1).
"""

import hashlib
import hmac
import re
from collections.abc import Collection

from tickwright.api.exchange import Caller
from tickwright.api.known_keys import KnownKeys
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.tenants import ApiKey, Scope
from tickwright.services.kit import Kit

PREFIX = "tw_"
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]{1,256}) *")

_NO_KEY = Refusal(code=Code.UNAUTHENTICATED, detail="Send an API key as `Authorization: Bearer tw_...`.")
# One answer for unknown, revoked and expired keys: a guess learns nothing.
_BAD_KEY = Refusal(code=Code.UNAUTHENTICATED, detail="The API key is unknown or has expired; send another.")


async def make_key(  # noqa: PLR0913 - what is kept of a key, part by part
    kit: Kit,
    tenant_id: TenantId,
    *,
    scopes: Collection[Scope],
    label: str,
    expires_at: Instant | None = None,
    made_by: str | None = None,
) -> tuple[str, ApiKey]:
    """Make and store a key; the secret is shown this once and kept nowhere."""
    secret = PREFIX + kit.entropy.token() + kit.entropy.token()
    key = ApiKey(
        key_hash=hash_of(secret),
        tenant_id=tenant_id,
        scopes=frozenset(scopes),
        label=label,
        created_at=kit.clock.now(),
        expires_at=expires_at,
        made_by=made_by,
    )
    await kit.store.put_api_key(key)
    return secret, key


async def look_up(kit: Kit, authorization: str | None, known: KnownKeys | None = None) -> Caller | Refusal:
    """Who is calling, by the Authorization header; `known`: the keys that this process has found good lately."""
    bearer = _BEARER.fullmatch(authorization or "")
    if bearer is None:
        return _NO_KEY
    sent_hash = hash_of(bearer[1])
    key = await (known or KnownKeys()).find(kit, sent_hash)
    if key is None or not hmac.compare_digest(key.key_hash, sent_hash) or not key.is_valid(kit.clock.now()):
        return _BAD_KEY
    return Caller(tenant_id=key.tenant_id, scopes=key.scopes, label=key.label)


def hash_of(secret: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode()).hexdigest()
