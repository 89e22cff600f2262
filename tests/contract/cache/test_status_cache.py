"""Does a cache give back what was put, to whom it belongs, and say so when it cannot?"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.contract.cache.conftest import Redis
from tests.support.clocks import NOON, ManualClock
from tickwright.adapters.cache.memory import MemoryStatusCache
from tickwright.adapters.cache.valkey import ValkeyStatusCache
from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.limits import COPIES_MAX, COPY_BYTES_MAX, COPY_S_MAX
from tickwright.ports.faults import CacheUnavailable
from tickwright.ports.status_cache import Copy, Place, StatusCache


def a_place(tenant: str = "acme", path: str = "/v1/jobs/a") -> Place:
    return Place(tenant_id=TenantId(tenant), path=path)


def a_copy(text: str = "{}", at: int = 0) -> Copy:
    return Copy(body=text.encode(), as_of=Instant(NOON + at))


@pytest.mark.sem("SEM-STALE-2")
async def test_the_copy_that_was_put_last_is_given(cache: StatusCache) -> None:
    """To the byte, whatever is in it, also where its instant is an earlier one: a clock may have stepped."""
    assert await cache.get(a_place()) is None
    await cache.put(a_place(), a_copy("first", at=5))
    last = Copy(body='{"\u00fc":"\u2028"}'.encode() + bytes(range(256)), as_of=Instant(NOON - 1))
    await cache.put(a_place(), last)

    assert await cache.get(a_place()) == last


@pytest.mark.sem("SEM-STALE-2", "SEM-TENANT-1")
async def test_no_tenant_meets_anothers_copy(cache: StatusCache) -> None:
    """Also where tenant and path read the same when they are written one after the other."""
    places = [
        a_place("acme", "/v1/jobs/a"),
        a_place("acme/v1", "/jobs/a"),
        a_place('acme","', "/v1/jobs/a"),
        a_place("acme", '","/v1/jobs/a'),
        a_place("ACME", "/v1/jobs/a"),
        a_place("", "acme/v1/jobs/a"),
    ]
    for number, place in enumerate(places):
        await cache.put(place, a_copy(str(number)))

    found = [await cache.get(place) for place in places]

    assert [copy and copy.body for copy in found] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert await cache.get(a_place("rival")) is None


@pytest.mark.sem("SEM-STALE-2")
async def test_one_that_is_too_large_is_not_kept_and_nor_is_what_it_replaces(cache: StatusCache) -> None:
    """An older copy beside it would say what is known to be over."""
    await cache.put(a_place(), a_copy("x" * COPY_BYTES_MAX))
    assert await cache.get(a_place()) is not None

    await cache.put(a_place(), a_copy("x" * (COPY_BYTES_MAX + 1)))

    assert await cache.get(a_place()) is None


@pytest.mark.sem("SEM-STALE-2")
async def test_memory_is_bounded_in_bytes_and_number() -> None:
    """What was asked for last stays; a copy that is put again counts once."""
    cache = MemoryStatusCache(ManualClockAtNoon(), bytes_max=1_000)
    for _ in range(50):
        await cache.put(a_place(path="again"), a_copy("x" * 100))
    for number in range(9):
        await cache.put(a_place(path=str(number)), a_copy("x" * 100))
    await cache.get(a_place(path="again"))
    await cache.put(a_place(path="9"), a_copy("x" * 100))
    kept = [path for path in ("again", *map(str, range(10))) if await cache.get(a_place(path=path)) is not None]
    assert kept == ["again", *map(str, range(1, 10))]

    many = MemoryStatusCache(ManualClockAtNoon())
    for number in range(COPIES_MAX + 1):
        await many.put(a_place(path=str(number)), a_copy(""))
    assert await many.get(a_place(path="0")) is None
    assert await many.get(a_place(path="1")) is not None


class ManualClockAtNoon(ManualClock):
    """One that stands, whatever loop asks it."""

    def monotonic_ms(self) -> int:
        """Always the same."""
        return 0


@pytest.mark.sem("SEM-STALE-2")
async def test_a_shared_copy_has_an_end(redis: Redis) -> None:
    """The server forgets it, with nobody's help."""
    cache = redis.cache()
    await cache.put(a_place(), a_copy())

    (name,) = [key async for key in cache._client.scan_iter(f"{redis.prefix}:*")]  # noqa: SLF001
    left_s = await cache._client.ttl(name)  # noqa: SLF001

    assert COPY_S_MAX - 60 < left_s <= COPY_S_MAX
    assert b"acme" not in name


@pytest.mark.sem("SEM-STALE-1")
async def test_processes_share_copies_and_installations_do_not(redis: Redis) -> None:
    """What one has shown another can show; a prefix is an installation's."""
    await redis.cache().put(a_place(), a_copy("shared"))

    assert await redis.cache().get(a_place()) == a_copy("shared")
    assert await redis.cache(f"{redis.prefix}-other").get(a_place()) is None


@pytest.mark.sem("SEM-STALE-2")
@pytest.mark.parametrize(
    "kept", [b"", b"no json", b"[]", b"{}", b'{"v":2}', b"[" * 100_000, None], ids=lambda kept: repr(kept)[:20]
)
async def test_what_is_no_copy_of_this_place_is_none(redis: Redis, kept: bytes | None) -> None:
    """Another version's, a broken one, and one that somebody has put under another's name."""
    cache = redis.cache()
    await cache.put(a_place("rival"), a_copy("the rival's"))
    of_rival = await cache._client.get(cache._name(a_place("rival")))  # noqa: SLF001
    assert of_rival is not None
    assert json.loads(of_rival)["tenantId"] == "rival"
    await cache._client.set(cache._name(a_place()), of_rival if kept is None else kept)  # noqa: SLF001

    assert await cache.get(a_place()) is None


@pytest.mark.sem("SEM-STALE-2")
@pytest.mark.parametrize("as_of", ["Infinity", "-Infinity", "NaN", "1e30", "-1", "true", "null", '"1"', "9" * 30])
async def test_a_copy_of_no_time_is_none(redis: Redis, as_of: str) -> None:
    """Whoever reaches the cache may write anything, and an answer says of when it is."""
    cache = redis.cache()
    await cache.put(a_place(), a_copy())
    name = cache._name(a_place())  # noqa: SLF001
    kept = await cache._client.get(name)  # noqa: SLF001
    assert kept is not None
    members = json.loads(kept)
    forged = json.dumps(members | {"asOf": "HERE"}).replace('"HERE"', as_of)
    await cache._client.set(name, forged)  # noqa: SLF001

    assert await cache.get(a_place()) is None


@asynccontextmanager
async def _mute() -> AsyncIterator[str]:
    """A server that takes connections and never says a word."""
    held: list[asyncio.StreamWriter] = []

    async def hold(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    yield f"redis://{host}:{port}"
    for writer in held:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    server.close()


def _nowhere() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.sem("SEM-STALE-2")
@pytest.mark.parametrize("is_mute", [True, False])
async def test_an_ill_cache_is_a_named_fault_and_then_left_alone(*, is_mute: bool) -> None:
    """A fifth of a second is waited; whoever asks in the second after that is told at once."""
    clock = SystemClock()
    async with _mute() as mute:
        cache = ValkeyStatusCache.at(mute if is_mute else _nowhere(), prefix="p", clock=clock)
        began_ms = clock.monotonic_ms()
        with pytest.raises(CacheUnavailable):
            await cache.get(a_place())
        first_ms = clock.monotonic_ms() - began_ms
        for _ in range(100):
            with pytest.raises(CacheUnavailable, match="a moment ago"):
                await cache.put(a_place(), a_copy())
        await cache.close()

    assert first_ms < 900
    assert clock.monotonic_ms() - began_ms < 1_000


@pytest.mark.sem("SEM-STALE-2")
async def test_a_cache_that_is_well_again_is_used_again(redis: Redis) -> None:
    """After its rest, without a new process."""
    clock = ManualClockAtNoon()
    cache = redis.cache()
    cache._clock = clock  # noqa: SLF001 - to let its rest pass
    cache._rests_until_ms = 1  # noqa: SLF001
    with pytest.raises(CacheUnavailable):
        await cache.put(a_place(), a_copy())
    cache._rests_until_ms = 0  # noqa: SLF001

    await cache.put(a_place(), a_copy("again"))

    assert await cache.get(a_place()) == a_copy("again")
