"""On DynamoDB a key is two writes: that its tenant has it, and the key. Whoever dies between them harms nobody."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.aws_stores import Ground, ground
from tests.recovery.places import Place
from tests.recovery.test_deletion import deleted
from tests.support.builders import TENANT
from tests.support.emulators import Emulator
from tests.support.faulty import Crash
from tests.support.kits import World
from tickwright.adapters.dynamodb.tables import Table
from tickwright.api.exchange import Caller
from tickwright.api.keys import hash_of, look_up, make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Refusal
from tickwright.domain.tenants import Scope
from tickwright.services.keys import key_id, keys_of, revoke_key
from tickwright.services.kit import Kit

pytestmark = [pytest.mark.slow, pytest.mark.sem("SEM-KEY-1")]

OTHER = TenantId("other")
READ = frozenset({Scope.JOBS_READ})
WRITES = 2


@dataclass(slots=True)
class Dying:
    """A client whose process dies at the n-th item that it puts: before the request, or before it has the answer."""

    client: Any
    at: int
    after: bool
    puts: int = 0

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """One operation."""
        call: Callable[..., Any] = getattr(self.client, operation)
        return call if operation != "put_item" else lambda **request: self._put(call, request)

    def _put(self, call: Callable[..., Any], request: dict[str, Any]) -> Any:  # noqa: ANN401 - what the client answers
        self.puts += 1
        if self.puts == self.at and not self.after:
            raise Crash
        answer = call(**request)
        if self.puts == self.at:
            raise Crash
        return answer


@dataclass(frozen=True, slots=True)
class Tables:
    """An installation on real tables, and what stands in them."""

    place: Place
    ground: Ground

    @property
    def kit(self) -> Kit:
        """A process that is well."""
        return self.place.world.kit

    def dying(self, at: int, *, after: bool) -> Kit:
        """A process that dies at one of its puts."""
        return replace(self.kit, store=self.ground.store(Dying(self.ground.client, at, after)))

    def kept(self) -> tuple[set[str], set[str]]:
        """The hashes of all keys, and of those that a list can find."""
        name = self.ground.tables.of(Table.CONTROL)
        items = self.ground.client.scan(TableName=name, ConsistentRead=True)["Items"]
        places = [(item["pk"]["S"], item["sk"]["S"]) for item in items]
        made = {pk.removeprefix("KEY#") for pk, _ in places if pk.startswith("KEY#")}
        return made, {sk.removeprefix("APIKEY#") for _, sk in places if sk.startswith("APIKEY#")}


@pytest_asyncio.fixture
async def tables(dynamodb_local: Emulator) -> AsyncIterator[Tables]:
    """One installation."""
    world = World()
    with ground(dynamodb_local.endpoint) as made:
        store = made.store()
        world.kit = replace(world.kit, store=store)
        yield Tables(Place(world, store.whole()), made)
        store.close()
    await world.close()


async def test_a_key_is_made_and_revoked_in_so_many_writes(tables: Tables) -> None:
    """So no position is left out below."""
    client = Dying(tables.ground.client, at=0, after=False)
    kit = replace(tables.kit, store=tables.ground.store(client))

    _, key = await make_key(kit, TENANT, scopes=READ, label="ci")
    made = client.puts
    await revoke_key(kit, TENANT, key_id(key))

    assert (made, client.puts) == (WRITES, 2 * WRITES)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
async def test_whoever_dies_while_a_key_is_made_leaves_no_key_that_nobody_can_list(
    tables: Tables, at: int, *, after: bool
) -> None:
    """The secret was never shown. Made anew it is another key; both can be taken back, and a deletion takes all."""
    _, others = await make_key(tables.kit, OTHER, scopes=READ, label="another's")
    with pytest.raises(Crash):
        await make_key(tables.dying(at, after=after), TENANT, scopes=READ, label="half")

    made, listed = tables.kept()
    assert made <= listed
    told = await keys_of(tables.kit, TENANT)
    assert [key.label for key in told] == (["half"] if (at, after) == (WRITES, True) else [])
    secret, key = await make_key(tables.kit, TENANT, scopes=READ, label="whole")
    assert isinstance(await look_up(tables.kit, f"Bearer {secret}"), Caller)
    assert {one.key_hash for one in await keys_of(tables.kit, TENANT)} == {one.key_hash for one in [*told, key]}
    for one in [*told, key]:
        ended = await revoke_key(tables.kit, TENANT, key_id(one))
        assert ended is not None
        assert not ended.is_valid(tables.place.world.clock.now())
    assert isinstance(await look_up(tables.kit, f"Bearer {secret}"), Refusal)
    await deleted(tables.place)
    assert tables.kept() == ({others.key_hash}, {others.key_hash})


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
async def test_whoever_dies_while_a_key_is_revoked_can_do_it_again(tables: Tables, at: int, *, after: bool) -> None:
    """Until the second write the key is as it was; it is listed once all the time."""
    secret, key = await make_key(tables.kit, TENANT, scopes=READ, label="ci")
    with pytest.raises(Crash):
        await revoke_key(tables.dying(at, after=after), TENANT, key_id(key))

    (told,) = await keys_of(tables.kit, TENANT)
    is_over = (at, after) == (WRITES, True)
    assert told.is_valid(tables.place.world.clock.now()) is not is_over
    assert isinstance(await look_up(tables.kit, f"Bearer {secret}"), Refusal if is_over else Caller)
    ended = await revoke_key(tables.kit, TENANT, key_id(key))
    assert ended is not None
    assert not ended.is_valid(tables.place.world.clock.now())
    assert [one.key_hash for one in await keys_of(tables.kit, TENANT)] == [hash_of(secret)]
    assert tables.kept() == ({key.key_hash}, {key.key_hash})
