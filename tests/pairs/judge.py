"""What must be true of two operations that met: at every point on the way, and of the world that they leave behind.

Must not know which two they were but by the names of what was answered.
"""

from collections.abc import Sequence

from tests.failures.scenes import Scene
from tests.support.interleave import Ending
from tests.support.kits import World
from tests.support.ledger import check_all, check_covered, check_ledger
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.jobs import JobStatus, Overlap
from tickwright.domain.limits import STANDARD
from tickwright.domain.transitions import State
from tickwright.services.claim import Claimed
from tickwright.services.jobs import JobView


async def check_point(world: World) -> None:
    """OverlapPolicy: of a job with *skip* one execution at most is unfinished at any point, and `active` names it."""
    rows = await world.executions()
    for head in await world.heads():
        if head.overlap is not Overlap.SKIP:
            continue
        open_now = [row for row in rows if row.job_id == head.job_id and not row.is_terminal]
        assert len(open_now) <= 1, f"two at once: {open_now}"
        assert all(row.occupant() == head.active for row in open_now), f"{head.active} is not {open_now}"


async def check_ending(scene: Scene, names: Sequence[str], ending: Ending) -> None:
    """Let fresh processes finish it, then judge it."""
    await ending.world.drain()
    await check_all(ending.world)
    await check_letters(ending.world)
    await check_noted(ending.world)
    for name, answer in zip(names, ending.answers, strict=True):
        await check_answer(scene, ending, name, answer)
    await check_schedule(scene, names, ending)


async def check_letters(world: World) -> None:
    """SEM-DEAD-1: every life that ended dead has its letter, and no other has."""
    letters = {(letter.ref, letter.generation) for letter in await world.dead_letters()}
    rows = await world.executions()
    died = {(row.ref, life) for row in rows for life in range(1, row.generation + (row.state is State.DEAD))}
    assert letters == died, f"letters {letters}, deaths {died}"


async def check_noted(world: World) -> None:
    """SEM-CHECKPOINT-1: a success has forgotten what was noted, whenever the heartbeat came that noted it."""
    assert [row for row in await world.executions() if row.state is State.SUCCEEDED and row.noted is not None] == []


async def check_answer(scene: Scene, ending: Ending, name: str, answer: object) -> None:
    """What was answered holds."""
    if name == "cancel" and isinstance(answer, JobView):
        await check_cancelled(scene, ending)
    if name == "claim" and isinstance(answer, Claimed):
        check_claim(scene, answer.execution)
    if not isinstance(answer, Execution):
        return
    row = await ending.world.kit.store.execution(answer.ref)
    assert row is not None
    if name == "complete" and answer.state is State.SUCCEEDED:
        assert (row.state, row.result, row.lease_epoch) == (State.SUCCEEDED, "1", answer.lease_epoch)
    if name == "redrive":
        assert row.generation >= answer.generation > 1
        assert row.redriven_at is not None
    if name == "discard":
        assert row.discarded is not None or row.generation > answer.generation
    if name == "rerun":
        old = await ending.world.kit.store.execution(scene_death(scene))
        assert row.rerun_of is not None
        assert old is not None
        assert old.discarded is not None or old.generation > 1


def scene_death(scene: Scene) -> ExecutionRef:
    """What has died in a scene."""
    assert scene.held is not None
    return scene.held.ref


def check_claim(scene: Scene, claimed: Execution) -> None:
    """MutualExclusion: nobody was given what another holds, however the other's report went meanwhile."""
    held = scene.held
    if held is not None and (claimed.ref, claimed.generation) == (held.ref, held.generation):
        assert held.lease_is_over(scene.now, STANDARD.clock_error_ms), f"a lease was stolen: {claimed}"


async def check_cancelled(scene: Scene, ending: Ending) -> None:
    """NoStartAfterCancelAck: nothing was started after the answer, and nothing by the drain."""
    answered = next(number for number, (what, about) in enumerate(ending.notes) if _is_cancel(what, about))
    assert [note for note in ending.notes[answered:] if note[0] == "start"] == []
    assert len(ending.world.runner.starts) == len([note for note in ending.notes if note[0] == "start"])
    assert (await ending.world.head(scene.job.job_id)).status is JobStatus.CANCELLED


def _is_cancel(what: str, about: object) -> bool:
    return what == "answered" and isinstance(about, tuple) and about[0].startswith("cancel-")


async def check_schedule(scene: Scene, names: Sequence[str], ending: Ending) -> None:
    """TickNotLost, NoGhostRun; and after a pause was acknowledged no later tick starts."""
    head = await ending.world.head(scene.job.job_id)
    match head.status:
        case JobStatus.PAUSED:
            answered = zip(names, ending.answers, strict=True)
            paused = [name for name, answer in answered if name == "pause" and isinstance(answer, JobView)]
            late = [start for start in ending.world.runner.starts if start.scheduled_at > scene.now]
            assert paused == [] or late == []
        case JobStatus.CANCELLED:
            pass
        case _ if head.version == scene.job.version:
            await check_ledger(ending.world, scene.job)
        case _:
            await check_covered(ending.world, scene.job, until=scene.now)
