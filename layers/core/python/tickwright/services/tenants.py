"""Which tenants an installation has, and all of its API keys: nothing but a look at every record finds them.

A page at a time and not too fast, since the authorizer reads the same table. Must not know who asks, nor show a hash.
"""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from tickwright.domain.deletions import Deletion, Standing, standing_of
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.tenants import ApiKey
from tickwright.ports.whole import Scanned, Sign, Whole
from tickwright.services.kit import Kit

ItemT = TypeVar("ItemT")

_PAGE: Final = 1_000
# DynamoDB answers a scan with up to 1 MB, for 128 read units: with this rest they are at most 1,280 a second, less than
# half of what one partition gives.
_REST_MS: Final = 100


@dataclass(slots=True, kw_only=True)
class Known:
    """A tenant: how many keys it has, those that are over too, how many are valid, and when the first one was made."""

    tenant_id: TenantId
    keys: int = 0
    valid: int = 0
    first_key_at: Instant | None = None
    deletion: Deletion | None = None
    has_records: bool = False

    @property
    def standing(self) -> Standing:
        """By the record of its deletion, unless somebody has the name since."""
        return standing_of(self.deletion, has_records=self.has_records)

    def heed(self, sign: Sign, now: Instant) -> None:
        """One more sign of it."""
        self.deletion = sign.deletion or self.deletion
        self.has_records |= sign.deletion is None
        if (key := sign.key) is not None:
            self.keys += 1
            self.valid += key.is_valid(now)
            self.first_key_at = key.created_at if self.first_key_at is None else min(self.first_key_at, key.created_at)


@dataclass(slots=True)
class Tenants:
    """All of them, by name. `unreadable`: how many records are of a version that this one does not know."""

    known: dict[TenantId, Known] = field(default_factory=dict)
    unreadable: int = 0


async def tenants_of(kit: Kit, whole: Whole) -> Tenants:
    """Look through all records once; what comes meanwhile may be missing."""
    found, now = Tenants(), kit.clock.now()
    async for page in _pages(kit, whole.every_sign_eventually):
        found.unreadable += len(page.unreadable)
        for sign in page.items:
            found.known.setdefault(sign.tenant_id, Known(tenant_id=sign.tenant_id)).heed(sign, now)
    return found


def every_key(kit: Kit, whole: Whole) -> AsyncIterator[Scanned[ApiKey]]:
    """All keys, in no order, page by page as they are found."""
    return _pages(kit, whole.every_api_key_eventually)


class _Read(Protocol[ItemT]):
    def __call__(self, *, limit: int, after_key: str | None = None) -> Awaitable[Scanned[ItemT]]: ...


async def _pages(kit: Kit, read: _Read[ItemT]) -> AsyncIterator[Scanned[ItemT]]:
    after_key: str | None = None
    while True:
        page = await read(limit=_PAGE, after_key=after_key)
        yield page
        if (after_key := page.next_key) is None:
            return
        await kit.clock.sleep_ms(_REST_MS)
