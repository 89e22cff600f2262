"""Bugs put in on purpose, to prove that the pairs find them: `make pairs PLANT=no-generation` must fail.

Those of the chaos run, and some that only a redrive can show. Never installed in a normal run.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from tests.chaos.plants import PLANTS as OF_CHAOS
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.domain.changes import executions, heads, moves
from tickwright.domain.executions import Execution
from tickwright.domain.jobs import Head
from tickwright.domain.journal import PutPage
from tickwright.ports.store import AnyChange
from tickwright.services import redrive, retract


def _no_generation() -> None:
    """A redrive opens the execution and leaves its job as it stands: `active` names the dead."""

    def decide(change: heads.Reopen, old: Head | None) -> Head | None:
        return old

    _put(heads.Reopen, "decide", decide)


def _any_strike() -> None:
    """Settle strikes what is owed by whatever life it finds."""
    right = executions.StrikeOwed.decide

    def decide(change: executions.StrikeOwed, old: Execution | None) -> Execution | None:
        return None if old is None else right(replace(change, seen_epoch=old.lease_epoch), old)

    _put(executions.StrikeOwed, "decide", decide)


def _owing() -> None:
    """A redrive does not wait for the letter of the life before."""
    right = moves.Redrive.decide

    def decide(change: moves.Redrive, old: Execution | None) -> Execution | None:
        return None if old is None else right(change, replace(old, owed=frozenset()))

    async def unsettled(kit: object, execution: Execution) -> Execution:
        return replace(execution, owed=frozenset())

    _put(moves.Redrive, "decide", decide)
    _put(redrive, "settle", unsettled)


def _no_page() -> None:
    """A redrive's page is not in its transaction, nor anywhere."""
    right = EmbeddedStore.write_together

    async def write_together(store: EmbeddedStore, changes: list[AnyChange]) -> object:
        return await right(store, [change for change in changes if not isinstance(change, PutPage)])

    _put(EmbeddedStore, "write_together", write_together)


def _no_tombstone() -> None:
    """A cancel and a pause leave the key of a tick that is decided and not inserted free."""

    async def nothing(*given: object, **named: object) -> None: ...

    _put(retract, "_tombstone", nothing)


def _put(place: object, name: str, bug: Callable[..., object]) -> None:
    assert hasattr(place, name), f"the rule that the plant replaces is gone: {name}"
    setattr(place, name, bug)


PLANTS: Final[Mapping[str, Callable[[], None]]] = {
    **OF_CHAOS,
    "no-generation": _no_generation,
    "any-strike": _any_strike,
    "owing": _owing,
    "no-page": _no_page,
    "no-tombstone": _no_tombstone,
}


def install(name: str) -> None:
    """Put one bug in; an empty name is none."""
    if name:
        PLANTS[name]()
