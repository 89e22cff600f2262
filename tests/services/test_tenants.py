"""Is every tenant told of that is there or was, with its keys, by a look that leaves the table to others?"""

from dataclasses import dataclass, field, replace

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import ManualClock
from tests.support.kits import a_kit
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.api.keys import make_key
from tickwright.domain.deletions import Deletion, Standing
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.tenants import ApiKey, Scope
from tickwright.ports.whole import Scanned, Sign, Whole
from tickwright.services.keys import key_id, revoke_key
from tickwright.services.kit import Kit
from tickwright.services.tenants import Known, every_key, tenants_of

READ = frozenset({Scope.JOBS_READ})
UNDER_WAY = Deletion(tenant_id=TENANT, asked_at=Instant(5))
ENDED = replace(UNDER_WAY, still_at=Instant(6), removes_at=Instant(7), ended_at=Instant(8))


def whole_of(kit: Kit) -> Whole:
    assert isinstance(kit.store, EmbeddedStore)
    return kit.store.whole()


@dataclass
class Pages:
    """A store of so many pages of a key each, and of one record more that nobody can read."""

    left: int
    key: ApiKey
    at: list[int] = field(default_factory=list)
    clock: ManualClock = field(default_factory=ManualClock)

    async def every_api_key_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[ApiKey]:
        assert limit == 1_000
        self.left -= 1
        self.at.append(self.clock.monotonic_ms())
        return Scanned(items=[self.key], next_key="more" if self.left else None, unreadable=["KEY#aaaa KEY"])


async def test_a_tenant_is_told_of_with_its_keys_and_when_the_first_was_made() -> None:
    """Also of one that has none that is valid."""
    kit = a_kit()
    assert isinstance(kit.clock, ManualClock)
    begin = kit.clock.now()
    _, first = await make_key(kit, TENANT, scopes=READ, label="first")
    kit.clock.advance(60_000)
    await make_key(kit, TENANT, scopes=READ, label="second")
    _, others = await make_key(kit, TenantId("globex"), scopes=READ, label="its only one")
    await revoke_key(kit, TENANT, key_id(first))
    await revoke_key(kit, others.tenant_id, key_id(others))

    found = await tenants_of(kit, whole_of(kit))

    assert found.known == {
        TENANT: Known(tenant_id=TENANT, keys=2, valid=1, first_key_at=begin, has_records=True),
        others.tenant_id: Known(
            tenant_id=others.tenant_id, keys=1, valid=0, first_key_at=others.created_at, has_records=True
        ),
    }
    assert found.unreadable == 0


@pytest.mark.parametrize(
    ("signs", "standing"),
    [
        ([Sign(tenant_id=TENANT)], Standing.THERE),
        ([Sign(tenant_id=TENANT, deletion=UNDER_WAY), Sign(tenant_id=TENANT)], Standing.BEING_DELETED),
        ([Sign(tenant_id=TENANT, deletion=UNDER_WAY)], Standing.BEING_DELETED),
        ([Sign(tenant_id=TENANT, deletion=ENDED)], Standing.DELETED),
        ([Sign(tenant_id=TENANT), Sign(tenant_id=TENANT, deletion=ENDED)], Standing.THERE),
    ],
)
def test_whether_a_tenant_is_there_is_said_by_all_that_is_kept_of_it(signs: list[Sign], standing: Standing) -> None:
    """In whatever order it is found; whoever has taken the name of a deleted one is there."""
    for order in (signs, signs[::-1]):
        known = Known(tenant_id=TENANT)
        for sign in order:
            known.heed(sign, Instant(10))
        assert known.standing is standing


async def test_the_look_at_all_keys_rests_between_its_pages() -> None:
    """The authorizer reads the same table; after the last page nobody waits."""
    kit = a_kit()
    _, key = await make_key(kit, TENANT, scopes=READ, label="ci")
    assert isinstance(kit.clock, ManualClock)
    pages = Pages(left=3, key=key, clock=kit.clock)

    found = [page async for page in every_key(kit, pages)]  # type: ignore[arg-type]

    assert [page.items for page in found] == [[key]] * 3
    assert [at - pages.at[0] for at in pages.at] == [0, 100, 200]
    assert kit.clock.monotonic_ms() == pages.at[-1]
