"""Where two operations on one job can meet: scenes, and the twelve operations as they are done in each.

Builds on the scenes of tests/failures. Must not know in which order anything happens.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

from tests.failures import scenes as failures
from tests.failures.scenes import Scene
from tests.support.builders import TENANT
from tests.support.faulty import Down
from tests.support.interleave import Actor, Operation
from tests.support.kits import World
from tests.support.steps import MINUTE, claimed, lease_over_ms
from tickwright.domain.attempts import Failure, Fatal, HandedOver, Success, an_error
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable, StoreUnavailable
from tickwright.services.change_job import cancel_job, pause_job
from tickwright.services.dead_letters import discard_each
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.redrive import redrive
from tickwright.services.report import heartbeat, report
from tickwright.services.rerun import Edited, rerun
from tickwright.services.resolve import resolve
from tickwright.services.settle import settle
from tickwright.services.submit import RequestKey

FLAKY = Failure(error=an_error("Flaky", "it failed"))
NOTED = Noted(progress=0.5, checkpoint="7")
BROKEN = Fatal(error=an_error("Broken", "for good"))


# --- scenes -----------------------------------------------------------------------------------------------------
async def _pictured(world: World, held: Execution) -> Scene:
    """What is there, as it is now."""
    image = await world.database.read(lambda connection: connection.serialize(), StoreUnavailable)
    stale = await world.due()
    job = await world.head(held.job_id)
    return Scene(image=bytes(image), now=world.clock.now(), job=job, stale=stale, held=held)


async def _first_claimed(world: World, attempts: int = 1) -> Execution:
    """The first of three ticks of a job that lets one run at a time, in a worker's hands; no second attempt."""
    schedule = {"every": "PT1M", "endAt": world.text(3 * MINUTE)}
    await world.submit(schedule=schedule, overlap={"mode": "skip"}, retryPolicy={"maxAttempts": attempts})
    world.clock.advance(MINUTE)
    await fire(world.kit, 0, await world.due(), Memory())
    return await claimed(world, await world.only_execution())


async def a_last_attempt(world: World) -> Scene:
    """The lease of the only attempt is over, and the second tick is due."""
    held = await _first_claimed(world)
    world.clock.advance(lease_over_ms(world))
    return await _pictured(world, held)


async def a_dead_run(world: World) -> Scene:
    """The first run is dead, its letter is still owed, and the second tick is due."""
    held = await _first_claimed(world)
    with suppress(QueueUnavailable):
        await report(world.a_process(Down(frozenset({"send_dead"}))), held, BROKEN)
    world.clock.advance(MINUTE)
    return await _pictured(world, held)


async def a_run_under_way(world: World) -> Scene:
    """Its worker is alive, and nobody else may have it."""
    held = await _first_claimed(world, attempts=3)
    return await _pictured(world, held)


async def a_settled_death(world: World) -> Scene:
    """The first run is dead, owes nothing, and stands on no page any more; its hint is used up."""
    dead = await report(world.kit, await _first_claimed(world), BROKEN)
    assert isinstance(dead, Execution)
    await world.lose_hints()
    for page in await world.pages():
        await resolve(world.kit, page)
    assert await world.pages() == []
    return await _pictured(world, dead)


async def a_second_life(world: World) -> Scene:
    """The first run was redriven and runs again; somebody still has a reading of its death."""
    dead = await report(world.kit, await _first_claimed(world), BROKEN)
    assert isinstance(dead, Execution)
    opened = await redrive(world.kit, TENANT, dead.ref.id, None)
    assert isinstance(opened, Execution)
    scene = await _pictured(world, await claimed(world, opened))
    return replace(scene, waits=replace(dead, owed=dead.owed_at(State.DEAD), ttl=None))


SCENES: Mapping[str, Callable[[World], Awaitable[Scene]]] = {
    "last": a_last_attempt,
    "dead": a_dead_run,
    "running": failures.SCENES["running"],
    "lease-over": failures.SCENES["lease-over"],
    "due": failures.SCENES["due-skip"],
    "alive": a_run_under_way,
    "redriven": a_second_life,
    "settled": a_settled_death,
}


# --- operations -------------------------------------------------------------------------------------------------
def operations(scene: Scene) -> Mapping[str, Operation]:
    """All, by name; a claim is of what waits, if anything does."""
    return {
        "tick": failures.fires(None),
        "claim": failures.claims(scene.waits or scene.held),
        "heartbeat": _beats(scene.held),
        "complete": failures.reports(scene.held, Success(result="1")),
        "fail": failures.reports(scene.held, FLAKY),
        "reap": failures.reaps(scene.held),
        "settle": _settles(scene.held, scene.waits),
        "cancel": lambda actor: cancel_job(actor.kit, TENANT, scene.job.job_id, None),
        "pause": lambda actor: pause_job(actor.kit, TENANT, scene.job.job_id, None),
        "edit": failures.edits(scene),
        "run-now": failures.runs_now(scene),
        "redrive": _redrives(scene.held),
        "discard": _discards(scene.held),
        "rerun": _reruns(scene.held),
        "hand-over": failures.reports(scene.held, HandedOver()),
    }


OPERATIONS = (
    *("tick", "claim", "heartbeat", "complete", "fail", "reap"),
    *("settle", "cancel", "pause", "edit", "run-now", "redrive"),
)
# Beside the twelve: what people decide on the dead, which meets the others in one scene.
OF_THE_DEAD = ("discard", "rerun")
# And a worker that says that somebody else goes on, which meets what else may be said of what runs.
OF_THE_RUNNING = ("hand-over",)


def _beats(held: Execution | None) -> Operation:
    """The holder says that it lives, and notes something."""

    async def one(actor: Actor) -> object:
        assert held is not None
        return await heartbeat(actor.kit, held, held.lease_epoch, noted=NOTED)

    return one


def _settles(held: Execution | None, seen_before: Execution | None) -> Operation:
    """Somebody whose hint came again finds it ended, or found so in an earlier life, and does what is owed."""

    async def one(actor: Actor) -> object:
        assert held is not None
        is_old = seen_before is not None and seen_before.ref == held.ref
        seen = seen_before if is_old else await actor.kit.store.execution(held.ref)
        return None if seen is None else await settle(actor.kit, seen)

    return one


def _redrives(held: Execution | None) -> Operation:
    """Somebody asks for another chance, each with a request of his own."""

    async def one(actor: Actor) -> object:
        assert held is not None
        key = RequestKey(key=f"POST /v1/executions/redrive {actor.name}", body_hash="b" * 64)
        return await redrive(actor.kit, TENANT, held.ref.id, key)

    return one


def _discards(held: Execution | None) -> Operation:
    """Somebody gives it up."""

    async def one(actor: Actor) -> object:
        assert held is not None
        (outcome,) = (await discard_each(actor.kit, TENANT, [held.ref.id], f"{actor.name} has said so")).values()
        return outcome

    return one


def _reruns(held: Execution | None) -> Operation:
    """Somebody asks for a run with another payload in its place, each with a request of his own."""

    async def one(actor: Actor) -> object:
        assert held is not None
        key = RequestKey(key=f"POST /v1/executions/rerun {actor.name}", body_hash="b" * 64)
        edited = Edited(payload="8", reason=f"{actor.name} has said so")
        return await rerun(actor.kit, TENANT, held.ref.id, edited, key)

    return one


# --- meetings ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, order=True)
class Meeting:
    """Two operations in a scene."""

    one: str
    other: str
    scene: str


_CHANGES = ("cancel", "pause", "edit", "run-now")
# Which operations do something in a scene. In the first two, all twelve: as they should, or as the zombie of a life
# that is over.
_MEET: Mapping[str, tuple[str, ...]] = {
    "last": OPERATIONS,
    "dead": OPERATIONS,
    "running": ("tick", "claim", "heartbeat", "complete", "fail", *_CHANGES, *OF_THE_RUNNING),
    "lease-over": ("claim", "heartbeat", "complete", "fail", "reap", *OF_THE_RUNNING),
    "due": ("tick", *_CHANGES),
    "alive": ("claim", "heartbeat", "complete", "fail", "reap", *OF_THE_RUNNING),
    "settled": ("tick", "cancel", "pause", "run-now", "redrive", *OF_THE_DEAD),
    "redriven": ("heartbeat", "complete", "fail", "settle", "redrive", *OF_THE_RUNNING),
}


def meetings() -> list[Meeting]:
    """All of them."""
    return sorted(
        Meeting(one, other, scene)
        for scene, names in _MEET.items()
        for one, other in combinations_with_replacement(names, 2)
    )
