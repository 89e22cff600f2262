"""Move an intake: what one installation has accepted and not landed is put into the intake of another.

Or into its own once more: what was set aside since its tenant was being deleted, after that was called off.

Each submission is kept there before it is forgotten here, so dying anywhere leaves one twice at most, and what lands
twice is one job. Promises: SEM-INTAKE-1, SEM-INTAKE-2, SEM-TENANT-2.
"""

from dataclasses import dataclass

from tickwright.domain.deletions import REFUSED_AS
from tickwright.domain.ids import TenantId
from tickwright.ports.intake import Intake, Left, LeftIntake, Submission


@dataclass(slots=True)
class Moved:
    """How many; `left`: those that stay, since nobody may land them."""

    moved: int = 0
    left: int = 0


async def move_intake(source: LeftIntake, to: Intake) -> Moved:
    """All that waits. The installation that it is taken from lands nothing any more.

    What was set aside with a reason stays: it has been answered.
    """
    done = Moved()
    while found := await source.take():
        for one in found:
            if one.refused is None and one.submission is not None:
                await _move(source, to, one, one.submission)
                done.moved += 1
            else:
                done.left += 1
    return done


async def return_to_intake(aside: LeftIntake, to: Intake, tenant_id: TenantId) -> Moved:
    """What was set aside of a tenant because it was deleted, and has been answered by nobody; `left`: all the rest.

    That is there for others at once when this has looked through everything, and after some minutes if it dies.
    """
    done, stays = Moved(), list[Left]()
    while found := await aside.take():
        for one in found:
            submission = one.submission
            if submission is not None and submission.tenant_id == tenant_id and one.refused == REFUSED_AS.value:
                await _move(aside, to, one, submission)
                done.moved += 1
            else:
                stays.append(one)
    for one in stays:
        await aside.show(one)
    done.left = len(stays)
    return done


async def _move(source: LeftIntake, to: Intake, one: Left, submission: Submission) -> None:
    kept = await to.put(submission)
    assert kept, "it was one message before"
    await source.forget(one)
