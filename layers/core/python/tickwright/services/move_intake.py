"""Move an intake: what one installation has accepted and not landed is put into the intake of another.

Each submission is kept there before it is forgotten here, so dying anywhere leaves one twice at most, and what lands
twice is one job. Promises: SEM-INTAKE-1, SEM-INTAKE-2.
"""

from dataclasses import dataclass

from tickwright.ports.intake import Intake, LeftIntake


@dataclass(slots=True)
class Moved:
    """How many; `left`: those that stay, since nobody may land them."""

    moved: int = 0
    left: int = 0


async def move_intake(source: LeftIntake, to: Intake) -> Moved:
    """All that waits. The installation that it is taken from lands nothing any more."""
    done = Moved()
    while found := await source.take():
        for arrived in found:
            if arrived is None:
                done.left += 1
                continue
            kept = await to.put(arrived.submission)
            assert kept, "it was one message before"
            await source.forget(arrived)
            done.moved += 1
    return done
