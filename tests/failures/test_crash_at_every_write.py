"""A process may die, or lose a reply, at any of its writes: others finish what it owed, and nothing happens twice.

The positions are counted by letting the story run once without a fault; sends to the queue count as writes.
"""

from copy import deepcopy

import pytest

from tests.failures import api_keys, dead_letter_changes, handed_over, job_changes, landings, pools_and_logs, use_cases
from tests.failures.use_cases import NotAcknowledged, UseCase
from tests.support.faulty import Crash, Fate, Script
from tests.support.kits import World
from tickwright.ports.faults import Unavailable


def all_use_cases() -> list[UseCase]:
    """A fresh one of each story."""
    return [
        use_cases.Submit(),
        use_cases.SubmitDueNow(),
        landings.Land(),
        landings.Land(due_in_ms=2_000),
        landings.Land(due_in_ms=-20_000),
        use_cases.FirePage(),
        use_cases.FireLate(mode="latest", runs=2),
        use_cases.FireLate(mode="all", runs=4),
        use_cases.FireLate(mode="none", runs=1),
        use_cases.FireSkip(),
        use_cases.Attempt(),
        use_cases.FailThenRetry(),
        use_cases.FailThenWait(),
        use_cases.FailForGood(),
        use_cases.Settle(),
        use_cases.Reaped(),
        use_cases.ReleaseDue(),
        use_cases.ResolvePage(),
        use_cases.TakeOver(),
        job_changes.CancelJob(),
        job_changes.PauseJob(),
        job_changes.ResumeJob(on_resume="skip"),
        job_changes.ResumeJob(on_resume="catchup"),
        job_changes.PauseKept(on_resume="skip"),
        job_changes.PauseKept(on_resume="catchup"),
        job_changes.EditJob(),
        job_changes.CancelExecution(which=0),
        job_changes.CancelExecution(which=1),
        job_changes.RunNow(overlap="skip"),
        job_changes.RunNow(overlap="allow"),
        job_changes.Redrive(overlap="skip"),
        job_changes.Redrive(overlap="allow"),
        dead_letter_changes.Discard(),
        dead_letter_changes.Rerun(overlap="skip"),
        dead_letter_changes.Rerun(overlap="allow"),
        dead_letter_changes.GiveOrder(),
        dead_letter_changes.RedriveRerun(),
        dead_letter_changes.CarryOutOrder(),
        dead_letter_changes.CarryOutInTheWay(),
        dead_letter_changes.StopAtCanary(),
        dead_letter_changes.CancelOrder(),
        handed_over.HandOver(),
        handed_over.CompleteElsewhere(),
        handed_over.FailElsewhere(),
        handed_over.KeepElsewhere(),
        handed_over.NoteAndFail(),
        pools_and_logs.PutPool(is_new=True),
        pools_and_logs.PutPool(is_new=False),
        pools_and_logs.DeletePool(),
        pools_and_logs.EndInDeletedPool(),
        pools_and_logs.Pull(),
        pools_and_logs.SayAndSucceed(),
        pools_and_logs.Rotate(),
        api_keys.MakeKey(),
        api_keys.RevokeKey(),
    ]


@pytest.mark.sem("SEM-JOURNAL-1", "SEM-TICK-2", "SEM-CANCEL-1")
@pytest.mark.parametrize("fate", Fate, ids=lambda fate: fate.name)
@pytest.mark.parametrize("use_case", all_use_cases(), ids=lambda use_case: use_case.name)
async def test_nothing_is_lost_wherever_a_process_stops(use_case: UseCase, fate: Fate) -> None:
    """At every write, before and after it, with a caller that gives up and with one that repeats the request."""
    positions = await writes_of(use_case)
    assert positions > 0

    for at in range(1, positions + 1):
        for repeats in (False, True) if use_case.is_request else (False,):
            await tell(deepcopy(use_case), Script(at=at, fate=fate), repeats=repeats)


async def writes_of(use_case: UseCase) -> int:
    """How many writes the story takes when nothing happens; and that its end is then as it must be."""
    script = Script()
    await tell(deepcopy(use_case), script, repeats=False)
    return script.writes


async def tell(use_case: UseCase, script: Script, *, repeats: bool) -> None:
    """The story in a world of its own."""
    world = World()
    try:
        await use_case.prepare(world)
        acknowledged = await _acted(use_case, world, script)
        if repeats and not acknowledged:
            await use_case.again(world.kit, world)
            acknowledged = True
        await use_case.others_finish(world)
        await use_case.after(world, acknowledged=acknowledged)
    except (AssertionError, NotAcknowledged) as wrong:
        wrong.add_note(f"{use_case.name}: {script.fate.name} at write {script.at}, repeats={repeats}")
        raise
    finally:
        await world.close()


async def _acted(use_case: UseCase, world: World, script: Script) -> bool:
    try:
        await use_case.act(world.a_process(script), world)
    except (Crash, Unavailable):
        return False
    return not script.is_dead
