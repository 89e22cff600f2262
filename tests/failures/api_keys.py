"""Stories of whoever makes a key or takes one back. On the store of one machine each is one write; on DynamoDB, two."""

from dataclasses import dataclass, field

from tests.failures.use_cases import UseCase
from tests.support.builders import TENANT
from tests.support.kits import World
from tickwright.api.exchange import Caller
from tickwright.api.keys import look_up, make_key
from tickwright.domain.tenants import ApiKey, Scope
from tickwright.services.keys import key_id, keys_of, revoke_key
from tickwright.services.kit import Kit

READ = frozenset({Scope.JOBS_READ})


@dataclass(repr=False)
class MakeKey(UseCase):
    """A secret that was shown opens the door; what was made and not shown is listed, so that it can be taken back."""

    is_request: bool = True
    shown: list[str] = field(default_factory=list)

    async def prepare(self, world: World) -> None:
        """Nothing."""

    async def act(self, kit: Kit, world: World) -> object:
        """Make it."""
        secret, _ = await make_key(kit, TENANT, scopes=READ, label="ci")
        self.shown.append(secret)
        return secret

    async def again(self, kit: Kit, world: World) -> object:
        """Make another."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Each that was shown is good, and of each other one can be rid."""
        for secret in self.shown:
            assert isinstance(await look_up(world.kit, f"Bearer {secret}"), Caller)
        listed = await keys_of(world.kit, TENANT)
        assert len(self.shown) <= len(listed) <= len(self.shown) + 1
        for key in listed:
            ended = await revoke_key(world.kit, TENANT, key_id(key))
            assert ended is not None
            assert not ended.is_valid(world.clock.now())
        assert len(self.shown) >= acknowledged


@dataclass(repr=False)
class RevokeKey(UseCase):
    """A key of which it was said that it is over is over, and is never another's."""

    is_request: bool = True
    key: ApiKey = field(init=False)
    secret: str = field(init=False)

    async def prepare(self, world: World) -> None:
        """It is good."""
        self.secret, self.key = await make_key(world.kit, TENANT, scopes=READ, label="ci")

    async def act(self, kit: Kit, world: World) -> object:
        """Take it back."""
        return await revoke_key(kit, TENANT, key_id(self.key))

    async def again(self, kit: Kit, world: World) -> object:
        """The same."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """It is over, or as it was, and told of as that."""
        (told,) = await keys_of(world.kit, TENANT)
        is_over = not told.is_valid(world.clock.now())
        assert is_over or (not acknowledged and told == self.key)
        assert isinstance(await look_up(world.kit, f"Bearer {self.secret}"), Caller) is not is_over
