"""Judges a whole run: what was acknowledged against what user code wrote down against what the store holds in the end.

One rule a function, named as the invariants of the protocol are. Must not know how the run was made: a hand-written
history is judged in the same way (tests/unit/chaos).
"""

from collections.abc import Callable, Iterator, Sequence

from tests.chaos.book import Book, Violation, books_of
from tests.chaos.history import History
from tests.chaos.rules_attempts import (
    attempts_are_in_order,
    ends_as_expected,
    no_double_run,
    no_early_start,
    no_stale_result,
)
from tests.chaos.rules_policies import calendars_are_kept, missed_are_paced, runs_are_bounded, slots_are_named
from tests.chaos.rules_stops import no_false_skip, no_start_after_ack, overlap_policy
from tests.chaos.rules_ticks import acknowledged_is_kept, journal_drains, no_ghost_run, tick_not_lost

RULES: Sequence[Callable[[Book], Iterator[Violation]]] = (
    acknowledged_is_kept,
    tick_not_lost,
    no_ghost_run,
    attempts_are_in_order,
    no_early_start,
    no_double_run,
    no_stale_result,
    ends_as_expected,
    no_start_after_ack,
    overlap_policy,
    no_false_skip,
    journal_drains,
    calendars_are_kept,
    slots_are_named,
    runs_are_bounded,
    missed_are_paced,
)

OF_TICKS = frozenset(
    {acknowledged_is_kept, tick_not_lost, no_ghost_run, no_start_after_ack, no_false_skip, calendars_are_kept}
)


def check(history: History) -> list[Violation]:
    """All violations; an empty list is a pass."""
    found = [Violation(name="NothingBroke", job="-", detail=detail) for detail in history.broken]
    known = {story.job_id for story in history.stories}
    found += [_ghost(history, job_id) for job_id in history.heads if job_id not in known]
    found += [
        Violation(name="NoGhostRun", job=attempt.ref.job_id, detail=f"{attempt.ref.id} ran and is not in the store")
        for attempt in history.attempts
        if attempt.ref not in history.executions
    ]
    for book in books_of(history):
        for rule in RULES:
            found += [] if book.story.unsure and rule in OF_TICKS else rule(book)
    return found


def _ghost(history: History, job_id: str) -> Violation:
    return Violation(name="NoGhostJob", job=job_id, detail="nobody was told of this job")
