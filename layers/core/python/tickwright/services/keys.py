"""Which API keys a tenant has, and how one of them is taken back.

A key is named by the beginning of its hash: its secret is kept nowhere. Must not know who asks. A revoked key stays,
with its end, so that a list can tell of it. Promise: SEM-KEY-1.
"""

from collections.abc import Sequence
from dataclasses import replace

from tickwright.domain.ids import TenantId
from tickwright.domain.tenants import ApiKey
from tickwright.services.kit import Kit

# Sixteen million million million names: a tenant's keys are never taken for each other, and a person can copy one.
ID_CHARS = 16
_PAGE = 100
_PAGES_MAX = 100


def key_id(key: ApiKey) -> str:
    """What a key is called."""
    return key.key_hash[:ID_CHARS]


async def keys_of(kit: Kit, tenant_id: TenantId) -> Sequence[ApiKey]:
    """A tenant's keys, the oldest first, those that are over too: ten thousand at most, of which nobody has a tenth."""
    found: list[ApiKey] = []
    after_key: str | None = None
    for _ in range(_PAGES_MAX):
        listing = await kit.store.api_keys_of(tenant_id, limit=_PAGE, after_key=after_key)
        found += listing.items
        after_key = listing.next_key
        if after_key is None:
            break
    return sorted(found, key=lambda key: (key.created_at, key.key_hash))


async def revoke_key(kit: Kit, tenant_id: TenantId, name: str) -> ApiKey | None:
    """End one of a tenant's keys now, as it is then; None if the tenant has none of this name.

    One that has ended by this clock is revoked too: by another it may be good for a while.

    What is cached of it (API Gateway keeps an answer of the authorizer) lives on for as long as that says.
    """
    key = next((key for key in await keys_of(kit, tenant_id) if key_id(key) == name), None)
    now = kit.clock.now()
    if key is None or key.revoked:
        return key
    ended = replace(key, revoked=True, expires_at=now if key.is_valid(now) else key.expires_at)
    await kit.store.put_api_key(ended)
    return ended
