"""Does a key that was good lately open the door while the store does not answer, and no other?"""

from dataclasses import replace

import pytest

from tests.outages.house import House, at_another
from tickwright.api.keys import hash_of, look_up
from tickwright.api.known_keys import KnownKeys
from tickwright.domain.instants import Instant
from tickwright.domain.limits import KNOWN_KEY_S_MAX, KNOWN_KEYS_MAX, STORE_PATIENCE_MS
from tickwright.domain.outcomes import Refusal
from tickwright.ports.faults import Unavailable


@pytest.mark.sem("SEM-STALE-4")
async def test_a_known_key_opens_the_door_for_a_quarter_of_an_hour(house: House) -> None:
    """Then, and for a key that this process has never seen, the answer is 503: nobody knows whether it is good."""
    acme, stranger = await house.client(), await house.client("stranger")
    assert (await acme.get("/v1/me")).status == 200
    house.mood.is_down = True

    assert (await acme.get("/v1/me")).json["tenantId"] == "acme"
    assert (await stranger.get("/v1/me")).status == 503
    assert (await at_another(acme, house.another()).get("/v1/me")).status == 503
    house.world.clock.advance(KNOWN_KEY_S_MAX * 1_000 + 1)
    assert (await acme.get("/v1/me")).status == 503


@pytest.mark.sem("SEM-STALE-4", "SEM-KEY-1")
@pytest.mark.parametrize("secret", ["tw_unknown", "", "x" * 300])
async def test_an_unknown_key_is_never_taken_for_a_known_one(house: House, secret: str) -> None:
    """While the store answers it is refused, and while it does not it opens nothing."""
    acme = await house.client()
    await acme.get("/v1/me")
    assert isinstance(await look_up(house.kit, f"Bearer {secret}", house.api.known_keys), Refusal)
    house.mood.is_down = True
    try:
        answer: object = await look_up(house.kit, f"Bearer {secret}", house.api.known_keys)
    except Unavailable as fault:
        answer = fault

    assert isinstance(answer, Refusal | Unavailable)


@pytest.mark.sem("SEM-STALE-4", "SEM-KEY-1")
async def test_a_key_that_expires_during_an_outage_opens_nothing(house: House) -> None:
    """Its end is known with it."""
    acme = await house.client()
    assert acme.secret is not None
    key = await house.world.kit.store.api_key(hash_of(acme.secret))
    assert key is not None
    await house.world.kit.store.put_api_key(replace(key, expires_at=house.world.clock.now()))
    house.world.clock.set(Instant(house.world.clock.now() - 60_000))
    assert (await acme.get("/v1/me")).status == 200
    house.mood.is_down = True
    assert (await acme.get("/v1/me")).status == 200

    house.world.clock.advance(60_000)

    assert (await acme.get("/v1/me")).status == 401


@pytest.mark.sem("SEM-STALE-4")
async def test_a_revoked_key_is_forgotten_as_soon_as_the_store_says_so(house: House) -> None:
    """What was good once is not good for ever: a key that is gone opens nothing in an outage after that."""
    acme = await house.client()
    assert acme.secret is not None
    await acme.get("/v1/me")
    await house.forget_key(acme.secret)
    assert (await acme.get("/v1/me")).status == 401
    house.mood.is_down = True

    assert (await acme.get("/v1/me")).status == 503


@pytest.mark.sem("SEM-STALE-4")
async def test_a_silent_store_is_waited_for_two_seconds(house: House) -> None:
    """The authorizer has ten; whoever is known is let in well within them."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_silent = True
    began_ms = house.world.clock.monotonic_ms()

    assert (await acme.get("/v1/me")).status == 200

    assert house.world.clock.monotonic_ms() - began_ms <= STORE_PATIENCE_MS


async def test_what_is_known_is_bounded(house: House) -> None:
    """The key that was confirmed longest ago goes first."""
    known = KnownKeys()
    acme = await house.client()
    assert acme.secret is not None
    key = await house.world.kit.store.api_key(hash_of(acme.secret))
    for number in range(KNOWN_KEYS_MAX + 1):
        known._note(house.kit, str(number), key)  # noqa: SLF001 - ten thousand requests would say the same

    assert known._lately(house.kit, "0") is None  # noqa: SLF001
    assert known._lately(house.kit, "1") == [key]  # noqa: SLF001
