"""Which lanes there are, highest first, and how many invocations may work on one.

Must not know CDK. Two ways, of which each lane has one: a mapping that polls as it finds work, or pollers that are paid
for by the hour. The product's own list is tickwright.domain.lanes; a test holds the two equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.required import require

LANES = ("high", "normal", "low", "backfill")

# A mapping polls with 2 to 1,000 concurrent invocations.
MAPPING_CONCURRENCY_MIN, MAPPING_CONCURRENCY_MAX = 2, 1_000
# How few and how many pollers Lambda keeps for a mapping, and how many invocations each has under way at most.
POLLERS_MIN, POLLERS_MIN_MAX, POLLERS_MAX = 2, 200, 2_000
INVOCATIONS_PER_POLLER = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pollers:
    """Provisioned pollers of a lane: there before the herd, and three times as fast to grow. They cost while idle."""

    least: int
    most: int

    def __post_init__(self) -> None:
        """Refuse what Lambda refuses."""
        allowed = f"from {POLLERS_MIN} to {POLLERS_MIN_MAX}"
        require(POLLERS_MIN <= self.least <= POLLERS_MIN_MAX, "Pollers.least", self.least, allowed)
        allowed = f"from least, which is {self.least}, to {POLLERS_MAX}"
        require(self.least <= self.most <= POLLERS_MAX, "Pollers.most", self.most, allowed)

    @property
    def concurrency(self) -> int:
        """How many invocations they may have under way together."""
        return INVOCATIONS_PER_POLLER * self.most


def concurrency_of(lanes: Mapping[str, int], pollers: Mapping[str, Pollers]) -> int:
    """What all lanes may ask of the worker function together; each lane is in one of the two."""
    named = sorted((*lanes, *pollers))
    allowed = f"each of {', '.join(LANES)} stands either there or in lane_pollers"
    require(named == sorted(LANES), "lane_concurrency", dict(lanes), allowed)
    for lane, most in lanes.items():
        allowed = f"from {MAPPING_CONCURRENCY_MIN} to {MAPPING_CONCURRENCY_MAX}"
        fits = MAPPING_CONCURRENCY_MIN <= most <= MAPPING_CONCURRENCY_MAX
        require(fits, f"lane_concurrency[{lane!r}]", most, allowed)
    return sum(lanes.values()) + sum(each.concurrency for each in pollers.values())
