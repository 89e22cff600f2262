"""A tick that is due and that nobody decides, though somebody could.

Must not know a store, nor why nobody does: what an installation owes its tenants is that somebody does. Promise:
SEM-BUCKET-5.
"""

from collections.abc import Sequence

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import Calendar
from tickwright.domain.ticks import Decided, decide


def left_since(head: Head) -> Instant:
    """Since when the tick that a head is due for is left: missed ones are made up one by one, each from the last on."""
    assert head.next_run_at is not None
    return Instant(max(head.next_run_at, head.created_at, head.fired_at or 0))


def could_be_decided(head: Head, *, at: Instant, missed_after_ms: int, calendars: Sequence[Calendar]) -> bool:
    """Whether a scheduler would have decided its tick, which is due, at that instant: at its rate it may be too early.

    Raises what the decision raises: such a tick is left by nobody. Whether the job is occupied is no matter, since a
    tick whose time has come is decided either way.
    """
    decided = decide(head, now=at, occupied=False, missed_after_ms=missed_after_ms, calendars=calendars)
    return isinstance(decided, Decided)
