"""Are signing secrets rotated once, and used as long as somebody may need them?"""

import asyncio

import pytest

from tests.api.worlds import without_a_store
from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Code, Refusal
from tickwright.ports.faults import Unavailable
from tickwright.services.webhook_secrets import SecretsInUse, Signing, get_signing, rotate

KEY = b"an installation's key"
OTHER = TenantId("another")


async def signing(world: World, tenant_id: TenantId = TENANT) -> Signing:
    found = await get_signing(world.kit, KEY, tenant_id)
    assert isinstance(found, Signing)
    return found


async def numbers(secrets: SecretsInUse) -> list[int]:
    return [secret.number for secret in await secrets.of(TENANT)]


@pytest.mark.sem("SEM-SIGN-1")
async def test_after_a_rotation_both_secrets_are_used_for_a_day(world: World) -> None:
    """Whoever has not changed the receiver yet still knows us; then the old one is of no use to whoever stole it."""
    secrets = SecretsInUse(kit=world.kit, key=KEY)
    first = await signing(world)
    before = await numbers(secrets)
    rotated = await rotate(world.kit, KEY, TENANT, seen=1)
    world.clock.advance(MINUTE)
    during = await numbers(secrets)
    world.clock.advance(24 * HOUR)
    after = await numbers(secrets)

    assert (before, during, after) == ([1], [2, 1], [2])
    assert isinstance(rotated, Signing)
    assert (rotated.newest.number, rotated.before) == (2, first.newest)
    assert rotated.before_until == world.clock.now() - MINUTE
    assert (await signing(world)).before is None


@pytest.mark.sem("SEM-SIGN-1")
async def test_a_rotation_is_done_once_for_all_who_ask_from_one_number(world: World) -> None:
    """A repeat whose answer was lost, and two people at once, leave the number one further."""
    both = await asyncio.gather(*(rotate(world.kit, KEY, TENANT, seen=1) for _ in range(2)))
    again = await rotate(world.kit, KEY, TENANT, seen=1)

    assert both[0] == both[1] == again == await signing(world)
    assert isinstance(again, Signing)
    assert again.newest.number == 2


@pytest.mark.sem("SEM-SIGN-1")
@pytest.mark.parametrize("seen", [2, 7])
async def test_a_rotation_from_another_number_is_refused(world: World, seen: int) -> None:
    """It would skip what nobody has seen."""
    refused = await rotate(world.kit, KEY, TENANT, seen=seen)

    assert isinstance(refused, Refusal)
    assert refused.code is Code.VERSION_CONFLICT
    assert (await signing(world)).newest.number == 1


async def test_a_rotation_is_its_tenants_alone(world: World) -> None:
    """The others' receivers go on as they are."""
    other = await signing(world, OTHER)

    await rotate(world.kit, KEY, TENANT, seen=1)

    assert await signing(world, OTHER) == other


async def test_an_installation_without_a_key_says_so(world: World) -> None:
    """It signs nothing, and there is nothing to show."""
    for answer in (await get_signing(world.kit, b"", TENANT), await rotate(world.kit, b"", TENANT, seen=1)):
        assert isinstance(answer, Refusal)
        assert answer.code is Code.NOT_FOUND


async def test_a_worker_signs_by_what_it_has_read_while_the_store_does_not_answer(world: World) -> None:
    """The old secret is good for a day; one that was never read is no secret to guess."""
    secrets = SecretsInUse(kit=world.kit, key=KEY)
    known = await secrets.of(TENANT)
    secrets.kit = without_a_store(world.kit)
    world.clock.advance(MINUTE)

    assert await secrets.of(TENANT) == known
    with pytest.raises(Unavailable):
        await secrets.of(OTHER)
