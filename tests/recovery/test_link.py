"""Two Regions lose each other and both go on: what the link brings when it heals, if it was not cut."""

import pytest

from tests.recovery.places import Installations
from tests.recovery.test_deletion import submitted
from tests.support.builders import TENANT
from tests.support.steps import MINUTE
from tickwright.domain.outcomes import Refusal
from tickwright.services.report import report_success


@pytest.mark.sem("SEM-EPOCH-1")
@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "replicas-still"])
async def test_who_holds_an_epoch_of_the_new_base_is_fenced_unless_an_old_one_comes_over_it(
    installations: Installations, *, is_cut: bool
) -> None:
    """One run is claimed in both Regions, in the lost one later; then both leases are over, and it is taken over.

    Where the lost Region's row has come over, its successor gets the epoch of the first holder, who is believed.
    """
    first, second = installations.first, installations.second
    await submitted(first, TENANT, schedule={"runAt": first.world.text(4_000)})
    await first.look_ahead()
    await installations.copied()
    second.begin_above(first.world.kit.era)
    (row,) = await second.waiting()
    await second.hold(row)
    first.world.clock.advance(5_000)
    (same,) = await first.waiting()
    await first.hold(same)

    if not is_cut:
        await installations.healed()
    second.world.clock.advance(2 * MINUTE)
    (found,) = await second.rows()
    await second.hold(found)
    holder, successor = second.held
    told = await report_success(second.world.kit, TENANT, holder.ref.id, epoch=holder.lease_epoch, result=None)

    assert successor.lease_epoch == holder.lease_epoch + int(is_cut)
    assert isinstance(told, Refusal) is is_cut
