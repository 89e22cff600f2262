"""Any two of the protocol's operations may meet at any of their calls: whatever the order, the promises hold.

Each pair is explored to the end on the real store; every different ending is drained by fresh processes and judged.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement

import pytest

from tests.failures.scenes import SCENES, Scene, operations
from tests.support.interleave import Ending, Explorer
from tests.support.kits import World
from tests.support.ledger import check_all, check_covered, check_ledger
from tickwright.domain.executions import Execution
from tickwright.domain.jobs import JobStatus
from tickwright.domain.transitions import State
from tickwright.services.jobs import JobView

_CHANGES = ("cancel_job", "pause", "edit")
MEETINGS = {
    "due-skip": ("fire", "resolve", "run_now", *_CHANGES),
    "due-allow": ("fire", "resolve", "run_now", *_CHANGES),
    "running": ("fire", "claim", "complete", "fail", "resolve", "cancel_execution", "run_now", *_CHANGES),
    "lease-over": ("claim_held", "complete", "fail", "reap", "resolve", "cancel_execution", *_CHANGES),
    "busy": ("fire", "stale_fire", "complete", "fail", "resolve", "cancel_execution", "run_now", *_CHANGES),
    "paused": ("stale_fire", "resume", "resolve", "run_now", "cancel_job", "edit"),
    "edit-due": ("fire", "stale_fire", "resolve", "run_now", *_CHANGES, "edit_later"),
    "edit-ahead": ("fire", "stale_fire", *_CHANGES, "edit_later", "resume"),
    "edit-paused": ("stale_fire", "resume", *_CHANGES, "edit_later"),
    "closed": ("fire", "stale_fire", "open", *_CHANGES, "edit_later", "resume"),
}
# Two of the same change of a job differ from scene to scene in nothing but their length.
ONCE = {("edit", "edit"): "due-skip", ("resolve", "resolve"): "lease-over"}
QUICK = ("due-skip", "busy")
PAIRS = [
    pytest.param(scene, *pair, marks=() if scene in QUICK else pytest.mark.slow)
    for scene, names in MEETINGS.items()
    for pair in combinations_with_replacement(names, 2)
    if ONCE.get(pair, scene) == scene
]
# Where a death in the middle leaves something for the other one to find.
DEATHS = [
    ("due-skip", "fire", "fire"),
    ("due-skip", "fire", "resolve"),
    ("due-skip", "fire", "cancel_job"),
    ("due-skip", "fire", "run_now"),
    pytest.param("due-allow", "fire", "edit", marks=pytest.mark.nightly),
    ("due-allow", "fire", "pause"),
    ("running", "claim", "cancel_job"),
    ("running", "fail", "resolve"),
    ("running", "run_now", "resolve"),
    ("lease-over", "claim_held", "resolve"),
    ("lease-over", "reap", "fail"),
    ("lease-over", "reap", "resolve"),
    ("busy", "fire", "complete"),
    ("busy", "fire", "cancel_execution"),
    ("paused", "stale_fire", "resume"),
    ("edit-due", "fire", "fire"),
    ("edit-due", "fire", "pause"),
    ("edit-due", "fire", "edit"),
    ("edit-paused", "resume", "stale_fire"),
    ("edit-paused", "resume", "edit_later"),
    ("closed", "fire", "fire"),
    ("closed", "fire", "edit"),
    ("closed", "fire", "pause"),
]


# Three at once, one of which may die: those that end within seconds, and those that are left to the night.
TRIPLES = [
    pytest.param(*meeting, marks=pytest.mark.slow)
    for meeting in (
        ("running", "claim", "cancel_execution", "resolve"),
        ("lease-over", "reap", "complete", "claim_held"),
        ("busy", "fire", "complete", "run_now"),
        ("busy", "fire", "fail", "cancel_execution"),
        ("paused", "stale_fire", "resume", "cancel_job"),
        ("edit-paused", "stale_fire", "resume", "cancel_job"),
        ("closed", "pause", "resume", "open"),
    )
] + [
    pytest.param(*meeting, marks=pytest.mark.nightly)
    for meeting in (
        ("due-allow", "fire", "resolve", "cancel_job"),
        ("due-skip", "fire", "fire", "cancel_job"),
        ("due-allow", "fire", "edit", "resolve"),
        ("due-skip", "fire", "run_now", "resolve"),
        ("running", "run_now", "resolve", "cancel_job"),
        ("lease-over", "claim_held", "cancel_job", "resolve"),
        ("due-allow", "fire", "pause", "resume"),
        ("paused", "resume", "edit", "stale_fire"),
        ("edit-due", "fire", "pause", "resume"),
        ("edit-ahead", "fire", "pause", "resume"),
        ("closed", "fire", "pause", "resume"),
    )
]


@pytest.mark.sem("SEM-TICK-1", "SEM-FENCE-1", "SEM-OVERLAP-1", "SEM-CANCEL-1", "SEM-PAUSE-1")
@pytest.mark.parametrize(("scene", "one", "other"), PAIRS)
async def test_the_promises_hold_whatever_the_order(scene: str, one: str, other: str) -> None:
    """Two operations, every interleaving of their calls, and then fresh processes until the world is quiet."""
    found = await found_in(scene)
    explorer = explorer_of(found, (one, other))

    endings = [await check_ending(found, (one, other), ending) async for ending in explorer.endings()]

    assert endings


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "one", "other"), DEATHS)
async def test_the_promises_hold_though_one_of_them_dies(scene: str, one: str, other: str) -> None:
    """The same, and at every point of every interleaving one of the two may die without a word."""
    found = await found_in(scene)
    explorer = explorer_of(found, (one, other), deaths=1)

    endings = [await check_ending(found, (one, other), ending) async for ending in explorer.endings()]

    assert any("dies" in way for way in endings)


@pytest.mark.parametrize(("scene", "one", "other", "third"), TRIPLES)
async def test_the_promises_hold_among_three(scene: str, one: str, other: str, third: str) -> None:
    """Three operations and a death, every interleaving."""
    found = await found_in(scene)
    explorer = explorer_of(found, (one, other, third), deaths=1)

    endings = [await check_ending(found, (one, other, third), ending) async for ending in explorer.endings()]

    assert endings


async def found_in(scene: str) -> Scene:
    """The scene, from a world of its own."""
    world = World()
    found = await SCENES[scene](world)
    await world.close()
    return found


def explorer_of(scene: Scene, names: Sequence[str], *, deaths: int = 0) -> Explorer:
    """Explores what happens when these operations meet."""
    known = operations(scene)
    chosen = [(f"{name}-{number}", known[name]) for number, name in enumerate(names)]
    return Explorer(image=scene.image, clock_at=scene.now, operations=chosen, deaths=deaths)


async def check_ending(scene: Scene, names: Sequence[str], ending: Ending) -> str:
    """Drain it, then judge it."""
    try:
        await ending.world.drain()
        await check_all(ending.world)
        await check_answers(scene, names, ending)
    except AssertionError as wrong:
        wrong.add_note(ending.way)
        wrong.add_note("\n".join(str(row) for row in await ending.world.executions()))
        raise
    return ending.way


async def check_answers(scene: Scene, names: Sequence[str], ending: Ending) -> None:
    """What was answered holds."""
    world = ending.world
    for name, answer in zip(names, ending.answers, strict=True):
        if name == "cancel_job" and isinstance(answer, JobView):
            await check_cancelled(scene, ending)
        if name == "complete" and isinstance(answer, Execution) and answer.state is State.SUCCEEDED:
            row = await world.kit.store.execution(answer.ref)
            assert row is not None
            assert (row.state, row.result, row.lease_epoch) == (State.SUCCEEDED, "1", answer.lease_epoch)
    head = await world.head(scene.job.job_id)
    if head.status is JobStatus.PAUSED:
        cut_off = [name for name, answer in zip(names, ending.answers, strict=True) if not isinstance(answer, JobView)]
        assert "pause" in cut_off or not [start for start in world.runner.starts if start.scheduled_at > scene.now]
    elif head.status is not JobStatus.CANCELLED:
        edited = head.version != scene.job.version
        await (check_covered(world, scene.job, until=scene.now) if edited else check_ledger(world, scene.job))


async def check_cancelled(scene: Scene, ending: Ending) -> None:
    """NoStartAfterCancelAck: what the drain would start is later than the answer, so there is nothing of it."""
    answered = next(number for number, (what, about) in enumerate(ending.notes) if _is_cancel(what, about))
    assert [note for note in ending.notes[answered:] if note[0] == "start"] == []
    before = [about for what, about in ending.notes if what == "start"]
    assert len(ending.world.runner.starts) == len(before)
    assert (await ending.world.head(scene.job.job_id)).status is JobStatus.CANCELLED


def _is_cancel(what: str, about: object) -> bool:
    return what == "answered" and isinstance(about, tuple) and about[0].startswith("cancel_job")
