"""Is a tenant's key found by its name, ended once, and told of afterwards?"""

from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import ManualClock
from tests.support.kits import a_kit
from tickwright.api.keys import look_up, make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Refusal
from tickwright.domain.tenants import Scope
from tickwright.services.keys import key_id, keys_of, revoke_key

OTHER = TenantId("globex")
READ = frozenset({Scope.JOBS_READ})


@pytest.mark.sem("SEM-KEY-1")
async def test_a_revoked_key_is_told_of_and_opens_nothing() -> None:
    """It stays in the list with its end; a second wish to revoke it changes no end."""
    kit = a_kit()
    secret, key = await make_key(kit, TENANT, scopes=READ, label="ci")

    ended = await revoke_key(kit, TENANT, key_id(key))
    again = await revoke_key(kit, TENANT, key_id(key))

    assert ended is not None
    assert (ended.expires_at, again) == (kit.clock.now(), ended)
    assert await keys_of(kit, TENANT) == [ended]
    assert isinstance(await look_up(kit, f"Bearer {secret}"), Refusal)


@pytest.mark.sem("SEM-KEY-1")
@pytest.mark.parametrize("ahead_ms", [3_600_000, -3_600_000])
@pytest.mark.parametrize("ends_in_ms", [None, 1_800_000])
async def test_a_revoked_key_is_over_whatever_the_clock_of_its_operator_says(
    ahead_ms: int, ends_in_ms: int | None
) -> None:
    """An hour ahead its end would lie in the future, or seem to have come; an hour behind it does no harm either."""
    kit = a_kit()
    ends = None if ends_in_ms is None else Instant(kit.clock.now() + ends_in_ms)
    secret, key = await make_key(kit, TENANT, scopes=READ, label="ci", expires_at=ends)
    operator = replace(kit, clock=ManualClock(kit.clock.now(), skew_ms=ahead_ms))

    ended = await revoke_key(operator, TENANT, key_id(key))

    assert ended is not None
    assert not ended.is_valid(operator.clock.now())
    assert isinstance(await look_up(kit, f"Bearer {secret}"), Refusal)


async def test_a_key_is_revoked_by_its_own_tenant_alone() -> None:
    """Under another tenant's name there is no such key, and nothing is changed."""
    kit = a_kit()
    _, key = await make_key(kit, TENANT, scopes=READ, label="ci")

    assert await revoke_key(kit, OTHER, key_id(key)) is None
    assert await keys_of(kit, TENANT) == [key]
    assert await keys_of(kit, OTHER) == []


async def test_keys_are_listed_over_all_pages_and_none_is_named_twice() -> None:
    """More than a page of them, each under a name of its own."""
    kit = a_kit()
    made = [(await make_key(kit, TENANT, scopes=READ, label=str(number)))[1] for number in range(130)]

    found = await keys_of(kit, TENANT)

    assert sorted(key.label for key in found) == sorted(key.label for key in made)
    assert len({key_id(key) for key in found}) == len(made)
