"""An API in this process, behind a store that answers, refuses or is silent as the test says, with an intake in memory.

Must not judge the product.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.api.client import Client, Got
from tests.support.faulty import Call as PortCall
from tests.support.kits import World
from tickwright.adapters.cache.memory import MemoryStatusCache
from tickwright.api.call import Api
from tickwright.api.keys import hash_of, make_key
from tickwright.api.landing import land, settle_arrival
from tickwright.domain.ids import TenantId
from tickwright.domain.limits import SILENCE_LASTS_MS
from tickwright.domain.outcomes import Refusal
from tickwright.domain.tenants import Scope
from tickwright.ports.faults import QueueUnavailable, StoreBusy, StoreUnavailable
from tickwright.ports.intake import Arrived, Submission
from tickwright.services.kit import Kit

AnswerT = TypeVar("AnswerT")
SECRET = b"a secret of the tests"
ALL = frozenset(Scope) - {Scope.ADMIN}
_TRIED_FOR_MS = 1_300
HANDLER = {"type": "python", "handler": "echo"}


@dataclass(slots=True)
class Mood:
    """How the store is: well; down, and refusing at once; or silent, and never answering. It counts who asks.

    `puts_off`: it throttles what it is asked, until its adapter has tried often enough.
    """

    kit: Kit
    is_down: bool = False
    is_silent: bool = False
    puts_off: bool = False
    applies_writes: bool = False  # while it is down: they are done, and nobody says so
    is_queue_silent: bool = False  # the store is not touched by that
    slow_writes_ms: int = 0
    asked: int = 0

    async def through(self, call: PortCall, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """One call."""
        if self.is_queue_silent and call.fault is QueueUnavailable:
            await self.kit.clock.sleep_ms(10_000_000)
        self.asked += 1
        if call.writes:
            await self.kit.clock.sleep_ms(self.slow_writes_ms)
        if self.puts_off and call.fault is StoreUnavailable:
            await self.kit.clock.sleep_ms(_TRIED_FOR_MS)
            raise StoreBusy("throttled")
        if self.is_silent:
            await self.kit.clock.sleep_ms(10_000_000)
        if self.is_down and self.applies_writes and call.writes:
            await do()
        if self.is_down:
            raise call.fault("the store is down")
        return await do()


@dataclass(slots=True)
class MemoryIntake:
    """An intake that keeps all in a list, twice if the test says so."""

    copies: int = 1
    is_down: bool = False
    waiting: list[Submission] = field(default_factory=list)
    refused: list[tuple[Submission, Refusal]] = field(default_factory=list)

    async def put(self, submission: Submission) -> bool:
        """Keep it."""
        if self.is_down:
            raise QueueUnavailable("the intake is down")
        if len(submission.body) > 400_000:
            return False
        self.waiting += [submission] * self.copies
        return True

    async def show_again(self, arrived: Arrived, *, after_ms: int) -> None:
        """Nothing is ever hidden here."""

    async def set_aside(self, submission: Submission, refusal: Refusal) -> None:
        """Keep it apart."""
        self.refused.append((submission, refusal))


class House:
    """One API process; `another` is a second one on the same store."""

    def __init__(self, world: World) -> None:
        """All is well."""
        self.world = world
        self.mood = Mood(world.kit)
        self.intake = MemoryIntake()
        self.kit = world.a_process(self.mood)
        self.api = self.another()

    def another(self, **shown: Any) -> Api:  # noqa: ANN401 - any field of the class
        """A process of its own: its cache and its keys are not the other's."""
        given: dict[str, Any] = {
            "kit": self.kit,
            "page_secret": SECRET,
            "copies": MemoryStatusCache(self.world.clock),
            "insists_ms": 5_000,
            "intake": self.intake,
        }
        return Api(**(given | shown))

    async def client(self, tenant: str = "acme", scopes: frozenset[Scope] = ALL) -> Client:
        """A caller whose key is good."""
        secret, _ = await make_key(self.world.kit, TenantId(tenant), scopes=scopes, label=tenant)
        return Client(self.api, secret)

    async def recover(self) -> None:
        """The store is well again, and so long that every process has noticed."""
        self.mood.is_down = self.mood.is_silent = False
        await self.world.clock.sleep_ms(SILENCE_LASTS_MS + 1)

    async def land_all(self) -> list[bool]:
        """Land what waits, as the function does; whether each is done with."""
        waiting, self.intake.waiting = self.intake.waiting, []
        done = [await settle_arrival(self.api, self.intake, Arrived(submission=one, receipt="")) for one in waiting]
        self.intake.waiting += [one for one, is_done in zip(waiting, done, strict=True) if not is_done]
        return done

    async def land_all_at_once(self) -> list[Refusal | None]:
        """The same by as many functions as there are messages."""
        landed = await asyncio.gather(*(land(self.another(), submission) for submission in self.intake.waiting))
        self.intake.waiting.clear()
        return landed

    async def forget_key(self, secret: str) -> None:
        """Take a key out of the store, as an operator who revokes it."""
        where = "DELETE FROM control WHERE pk = ?"
        found = (f"KEY#{hash_of(secret)}",)
        await self.world.database.write(lambda connection: connection.execute(where, found), StoreUnavailable)


async def back_after(house: House, ms: int) -> None:
    """The store is well again after so long."""
    await house.world.clock.sleep_ms(ms)
    house.mood.is_down = house.mood.is_silent = False


def at_another(client: Client, api: Api) -> Client:
    """The same caller at another process."""
    return Client(api, client.secret)


def a_job(world: World, **shown: object) -> Mapping[str, object]:
    """A one-off in a minute, or as shown."""
    return {"schedule": {"runAt": world.text(60_000)}, "target": HANDLER, **shown}


def without_marks(got: Got) -> dict[str, Any]:
    """A stale answer without what marks it."""
    value = json.loads(json.dumps(got.json))
    return {name: value[name] for name in value if name not in {"stale", "asOf", "etag"}}


def silenced(api: Api) -> Api:
    """The same process without its cache: the control."""
    return replace(api, copies=None)
