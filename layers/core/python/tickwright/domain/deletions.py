"""How far the deletion of a tenant has come, and when its next step may be done.

First nobody may ask for anything and everything stops; then a rest, in which the last door closes and whoever had begun
something ends; only then rows go. Must not know a store. Promises: SEM-TENANT-2, SEM-TENANT-3.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tickwright.domain import limits
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code

# By what a submission of a deleted tenant is refused as it lands. Nothing else that lands is: its key could submit.
REFUSED_AS: Final = Code.FORBIDDEN
_REST_MS: Final = limits.DELETED_TENANT_RESTS_S * 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A tenant that is deleted: since when, since when nothing of it moved, since when rows go, when all were gone."""

    tenant_id: TenantId
    asked_at: Instant
    still_at: Instant | None = None
    removes_at: Instant | None = None
    ended_at: Instant | None = None

    @property
    def stands(self) -> bool:
        """Whether it is under way."""
        return self.ended_at is None

    @property
    def may_be_called_off(self) -> bool:
        """Whether nothing of the tenant is gone yet."""
        return self.stands and self.removes_at is None

    @property
    def forgotten_at(self) -> Instant | None:
        """When the record itself may go: as late as the rows of the tenant's last day would have gone."""
        return None if self.ended_at is None else Instant(self.ended_at + limits.RETENTION_S_DEFAULT * 1_000)

    @property
    def removes_from(self) -> Instant | None:
        """When rows may go; None while something moves."""
        return None if self.still_at is None else Instant(self.still_at + _REST_MS)

    def may_remove(self, now: Instant) -> bool:
        """Whether whoever had begun something has ended by now."""
        return self.removes_from is not None and self.removes_from <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDeletion:
    """Note how far it has come, over what was seen: two commands with one order must not undo each other's notes."""

    deletion: Deletion
    seen: Deletion | None

    def __post_init__(self) -> None:
        """It goes on with what was seen, or begins where that has ended."""
        goes_on = self.seen is not None and self.seen.asked_at == self.deletion.asked_at
        assert goes_on == (self.seen is not None and self.seen.stands)

    def decide(self, old: Deletion | None) -> Deletion | None:
        """The one that was seen, with the same rest, ended or not as it was then."""
        return self.deletion if _pinned(old) == _pinned(self.seen) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOff:
    """Take the record of a deletion away, of which no row has gone."""

    seen: Deletion

    def allows(self, old: Deletion | None) -> bool:
        """The one that was seen."""
        return old is not None and old.asked_at == self.seen.asked_at and old.may_be_called_off


def _pinned(deletion: Deletion | None) -> tuple[Instant | None, ...]:
    return () if deletion is None else (deletion.asked_at, deletion.still_at, deletion.ended_at)


def looked_at(deletion: Deletion, *, moves: bool, now: Instant) -> Deletion:
    """After a look at everything: what moved, or a job that came, starts the rest anew."""
    if moves:
        return replace(deletion, still_at=None)
    return deletion if deletion.still_at is not None else replace(deletion, still_at=now)


class Standing(Enum):
    """Whether a tenant is there; a name may have been taken again after its tenant was deleted."""

    THERE = "there"
    BEING_DELETED = "being_deleted"
    DELETED = "deleted"


def standing_of(deletion: Deletion | None, *, has_records: bool) -> Standing:
    """By the record of its deletion, if any, unless somebody has the name since: records beside it say so."""
    if deletion is not None and deletion.stands:
        return Standing.BEING_DELETED
    return Standing.THERE if has_records else Standing.DELETED
