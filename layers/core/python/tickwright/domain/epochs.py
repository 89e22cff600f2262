"""Where the epochs of an installation lie, so that none that was ever handed out is handed out again after a recovery.

An installation that was restored to an earlier instant does not know what was claimed after it. Its epochs therefore
begin above all that the one before could hand out: each hands out those of its own era alone, `base` + 1 to `base` +
EPOCHS_AN_ERA, and the next one's base is the end of the last. Must not know a store. Promises: SEM-EPOCH-1,
SEM-EPOCH-2.
"""

from dataclasses import dataclass
from typing import Final

from tickwright.domain import limits
from tickwright.domain.ids import Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """The epochs that one installation hands out: those above `base`, so many."""

    base: Epoch = Epoch(0)  # noqa: RUF009 - a NewType over int is an immutable default

    def __post_init__(self) -> None:
        """A fence of a job's runs leaves room for so many epochs (tickwright_sdk.fences)."""
        assert 0 <= self.base <= limits.EPOCH_BASE_MAX

    @property
    def highest(self) -> Epoch:
        """The last that is handed out: where the next installation's era begins."""
        return Epoch(self.base + limits.EPOCHS_AN_ERA)

    def is_below(self, epoch: Epoch) -> bool:
        """Whether it is of an era before: the next claim goes up to this one's base."""
        return epoch < self.base

    def is_used_up(self, epoch: Epoch) -> bool:
        """Whether nobody may be handed a later one here."""
        return epoch >= self.highest

    def after(self, epoch: Epoch) -> Epoch:
        """The epoch of the next claim."""
        return Epoch(max(epoch, self.base) + 1)


FIRST_ERA: Final = Era()
