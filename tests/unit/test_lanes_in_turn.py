"""Which lane a receive asks first: by a draw, the higher the more often, and none of them never."""

from collections import Counter

import pytest

from tickwright.domain.lanes import LANES, Lane, lanes_in_turn


@pytest.mark.sem("SEM-POOL-4")
def test_each_lane_leads_three_times_as_often_as_the_next() -> None:
    """Over draws that are spread evenly: 27, 9, 3 and 1 of forty."""
    leading = Counter(lanes_in_turn(LANES, (draw + 0.5) / 40)[0] for draw in range(40))

    assert leading == {Lane.HIGH: 27, Lane.NORMAL: 9, Lane.LOW: 3, Lane.BACKFILL: 1}


@pytest.mark.sem("SEM-POOL-4")
@pytest.mark.parametrize("fraction", [0.0, 0.7, 0.95, 0.99, 1.0 - 2**-53])
def test_the_others_follow_in_their_order(fraction: float) -> None:
    """Whichever leads, all are asked, once each."""
    first, *others = lanes_in_turn(LANES, fraction)

    assert others == [lane for lane in LANES if lane is not first]


def test_one_lane_alone_leads_always() -> None:
    """A machine that is kept for it asks for nothing else."""
    assert list(lanes_in_turn([Lane.LOW], 0.999)) == [Lane.LOW]
