"""Installations in the middle of things, and the operations that may meet there: what the interleavings begin with.

Each scene is one job of the usual tenant. Must not know in which order anything happens.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.support.builders import TENANT
from tests.support.interleave import Actor, Operation
from tests.support.kits import Start, World
from tests.support.steps import MINUTE, claimed
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.executions import Execution
from tickwright.domain.ids import WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import Lane
from tickwright.domain.schedules import read_calendar
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.calendars import put_calendar
from tickwright.services.cancel import cancel_execution
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job
from tickwright.services.claim import Claimed, Wanted, claim
from tickwright.services.end import reap
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory
from tickwright.services.report import report
from tickwright.services.resolve import resolve
from tickwright.services.run_now import run_now
from tickwright.services.submit import RequestKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is there: an image of the store, the time, the job, what the index showed before, and who holds what."""

    image: bytes
    now: Instant
    job: Head
    stale: Sequence[Head]
    held: Execution | None = None
    waits: Execution | None = None


async def _scene(world: World, job: Head, stale: Sequence[Head], **found: Execution) -> Scene:
    image = await world.database.read(lambda connection: connection.serialize(), StoreUnavailable)
    return Scene(image=bytes(image), now=world.clock.now(), job=job, stale=stale, **found)


async def a_due_job(world: World, overlap: str) -> Scene:
    """The first of three ticks is due, and nothing was decided yet."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)}, overlap={"mode": overlap})
    world.clock.advance(MINUTE)
    return await _scene(world, job, await world.due())


async def a_running_job(world: World, *, claimed_at: int, now: int, overlap: str = "allow") -> Scene:
    """The first tick runs, the second is queued if it may be, the third is due soon; times from the start."""
    start = world.clock.now()
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)}, overlap={"mode": overlap})
    world.clock.advance(MINUTE)
    await fire(world.kit, 0, await world.due(), Memory())
    first = await world.only_execution()
    stale = await world.due()
    world.clock.advance_to(Instant(start + claimed_at))
    held = await claimed(world, first)
    if overlap == "allow":
        world.clock.advance_to(Instant(start + max(claimed_at, 2 * MINUTE)))
        await fire(world.kit, 0, await world.due(), Memory())
    world.clock.advance_to(Instant(start + now))
    waits = [row for row in await world.executions() if row.ref != first.ref]
    return await _scene(world, job, stale, held=held, **({"waits": waits[0]} if waits else {}))


async def a_paused_job(world: World) -> Scene:
    """Paused after its second tick was decided ahead of time, and before that tick."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)}, overlap={"mode": "allow"})
    world.clock.advance(2 * MINUTE - 3_000)
    before = await world.due()
    for _ in range(2):
        await fire(world.kit, 0, await world.due(), Memory())
    stale = [*before, *await world.due()]
    await pause_job(world.kit, TENANT, job.job_id, None)
    return await _scene(world, job, stale)


async def a_job_with_a_waiting_edit(world: World, *, from_ms: int) -> Scene:
    """The first of three ticks is due, and an edit counts from then on or from soon after: to the same schedule."""
    spec = {
        "schedule": {"every": "PT1M", "startAt": world.text(0), "endAt": world.text(3 * MINUTE)},
        "overlap": {"mode": "allow"},
    }
    job = await world.submit(**spec)
    stale = await world.due()
    await edit_job(world.kit, TENANT, job.job_id, world.spec(**spec), 1, Instant(job.created_at + from_ms))
    world.clock.advance(MINUTE)
    return await _scene(world, await world.head(job.job_id), [*stale, *await world.due()])


async def a_paused_job_with_a_waiting_edit(world: World) -> Scene:
    """Paused after its first tick; an edit should have counted since, and a tick on each side of it was held back."""
    spec = {
        "schedule": {"every": "PT1M", "startAt": world.text(0), "endAt": world.text(5 * MINUTE)},
        "overlap": {"mode": "allow"},
    }
    job = await world.submit(**spec)
    await edit_job(world.kit, TENANT, job.job_id, world.spec(**spec), 1, Instant(job.created_at + 2 * MINUTE + 1))
    world.clock.advance(MINUTE)
    stale = await world.due()
    await fire(world.kit, 0, stale, Memory())
    world.clock.advance(10_000)
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(2 * MINUTE)
    return await _scene(world, await world.head(job.job_id), stale)


async def a_job_that_a_calendar_closes(world: World) -> Scene:
    """The first of three ticks is due; the first two are closed."""
    await _freeze(world.kit, world.text(MINUTE), world.text(2 * MINUTE + 1))
    ends = {"every": "PT1M", "endAt": world.text(3 * MINUTE), "calendars": ["freeze"]}
    job = await world.submit(schedule=ends, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    return await _scene(world, job, await world.due())


async def _freeze(kit: Kit, start: str, end: str) -> object:
    content = read_calendar({"type": "exclude", "windows": [{"start": start, "end": end}]})
    return await put_calendar(kit, TENANT, "freeze", content, None)


SCENES: Mapping[str, Callable[[World], Awaitable[Scene]]] = {
    "due-skip": lambda world: a_due_job(world, "skip"),
    "due-allow": lambda world: a_due_job(world, "allow"),
    "running": lambda world: a_running_job(world, claimed_at=2 * MINUTE, now=176_000),
    "lease-over": lambda world: a_running_job(world, claimed_at=110_000, now=176_000),
    "busy": lambda world: a_running_job(world, claimed_at=2 * MINUTE - 1_000, now=2 * MINUTE, overlap="skip"),
    "paused": a_paused_job,
    "edit-due": lambda world: a_job_with_a_waiting_edit(world, from_ms=MINUTE),
    "edit-ahead": lambda world: a_job_with_a_waiting_edit(world, from_ms=MINUTE + 2_000),
    "edit-paused": a_paused_job_with_a_waiting_edit,
    "closed": a_job_that_a_calendar_closes,
}


# --- operations -------------------------------------------------------------------------------------------------
def operations(scene: Scene) -> Mapping[str, Operation]:
    """All that can be done in a scene, by name."""
    return {
        "fire": fires(None),
        "stale_fire": fires(scene.stale),
        "claim": claims(scene.waits),
        "claim_held": claims(scene.held),
        "complete": reports(scene.held, Success(result="1")),
        "fail": reports(scene.held, Failure(error=an_error("Flaky", "it failed"))),
        "reap": reaps(scene.held),
        "resolve": resolves,
        "cancel_job": lambda actor: cancel_job(actor.kit, TENANT, scene.job.job_id, None),
        "cancel_execution": cancels(scene.held),
        "pause": lambda actor: pause_job(actor.kit, TENANT, scene.job.job_id, None),
        "resume": lambda actor: resume_job(actor.kit, TENANT, scene.job.job_id, None),
        "edit": edits(scene),
        "edit_later": edits_later(scene),
        "open": opens,
        "run_now": runs_now(scene),
    }


def fires(heads: Sequence[Head] | None) -> Operation:
    """A scheduler, with what the index shows or with what it showed long ago."""

    async def one(actor: Actor) -> object:
        if heads is not None:
            return await fire(actor.kit, 0, heads, Memory())
        until = Instant(actor.kit.clock.now() + actor.kit.durations.lookahead_ms)
        shown = (await actor.kit.store.due_eventually(0, Lane.NORMAL, until=until, limit=10)).items
        return await fire(actor.kit, 0, shown, Memory())

    return one


def claims(execution: Execution | None) -> Operation:
    """A worker with a hint; its target starts when the claim is granted."""

    async def one(actor: Actor) -> object:
        assert execution is not None
        wanted = Wanted(ref=execution.ref, timeout_ms=300_000)
        (answer,) = await claim(actor.kit, [wanted], WorkerId(actor.name))
        if isinstance(answer, Claimed):
            actor.note("start", execution.ref)
            actor.world.runner.starts.append(started(answer.execution, actor.kit.clock.now()))
        return answer

    return one


def started(execution: Execution, at: Instant) -> Start:
    """What the target's log says of a claim that was granted."""
    return Start(
        execution_id=execution.ref.id,
        scheduled_at=execution.scheduled_at,
        at=at,
        epoch=execution.lease_epoch,
        attempt=execution.attempt,
        job_version=execution.job_version,
    )


def reports(execution: Execution | None, result: UserResult) -> Operation:
    """The holder's report."""

    async def one(actor: Actor) -> object:
        assert execution is not None
        return await report(actor.kit, execution, result)

    return one


def reaps(execution: Execution | None) -> Operation:
    """A watcher that has looked at the lease."""

    async def one(actor: Actor) -> object:
        assert execution is not None
        seen = await actor.kit.store.execution(execution.ref)
        assert seen is not None
        over = seen.lease_is_over(actor.kit.clock.now(), actor.kit.durations.clock_error_ms)
        return await reap(actor.kit, seen) if over else None

    return one


async def resolves(actor: Actor) -> object:
    """A watcher that resolves every page there is, whether its time has come or not."""
    pages = await actor.kit.store.pages(0, until=Instant(1 << 50), limit=50)
    return [await resolve(actor.kit, page) for page in pages]


def cancels(execution: Execution | None) -> Operation:
    """Somebody cancels the run that is held."""

    async def one(actor: Actor) -> object:
        assert execution is not None
        return await cancel_execution(actor.kit, TENANT, execution.ref.id)

    return one


def edits(scene: Scene) -> Operation:
    """Somebody reads the job and edits it to every ninety seconds."""

    async def one(actor: Actor) -> object:
        head = await actor.kit.store.head(scene.job.job_id)
        assert head is not None
        spec = actor.world.spec(
            schedule={"every": "PT90S", "endAt": actor.world.text(4 * MINUTE)}, overlap={"mode": head.overlap.value}
        )
        return await edit_job(actor.kit, TENANT, head.job_id, spec, head.version)

    return one


def edits_later(scene: Scene) -> Operation:
    """Somebody reads the job and edits it from the next half minute on, to what it is."""

    async def one(actor: Actor) -> object:
        head = await actor.kit.store.head(scene.job.job_id)
        assert head is not None
        definition = await actor.kit.store.definition(head.job_id, head.definition_version)
        assert definition is not None
        at = Instant(scene.now + MINUTE // 2)
        return await edit_job(actor.kit, TENANT, head.job_id, definition.spec, head.version, at)

    return one


async def opens(actor: Actor) -> object:
    """Somebody lifts the freeze."""
    return await _freeze(actor.kit, actor.world.text(-MINUTE), actor.world.text(-MINUTE + 1))


def runs_now(scene: Scene) -> Operation:
    """Somebody asks for a run."""

    async def one(actor: Actor) -> object:
        key = RequestKey(key=f"POST /v1/jobs/run {actor.name}", body_hash="b" * 64)
        return await run_now(actor.kit, TENANT, scene.job.job_id, key)

    return one
