"""What a scheduler process remembers of its own decisions, so that a stale index costs it nothing.

Forgetting is harmless: it only saves reads and writes.
"""

from collections import OrderedDict
from typing import TypeVar

from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head

NotedT = TypeVar("NotedT")
_JOBS_MAX = 200_000  # about 20 MB; the oldest are forgotten first


class Memory:
    """The last tick of each job that this process decided and whose execution it knows to exist."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._decided: OrderedDict[JobId, tuple[int, Instant]] = OrderedDict()
        self._inserted: OrderedDict[JobId, Instant] = OrderedDict()

    def note_decided(self, job_id: JobId, through: Instant, version: int) -> None:
        """The head of this version has moved past this tick: an index entry that still shows it is stale."""
        _note(self._decided, job_id, (version, through))

    def note_inserted(self, job_id: JobId, tick: Instant) -> None:
        """The execution of this tick exists."""
        _note(self._inserted, job_id, tick)

    def is_stale(self, head: Head) -> bool:
        """Whether the index shows a head that this process has moved on already.

        A later version may be due at an earlier tick: an edit on an older reading brings back what was passed over.
        """
        version, through = self._decided.get(head.job_id, (0, 0))
        return head.version <= version and head.next_run_at is not None and head.next_run_at <= through

    def knows_inserted(self, head: Head) -> bool:
        """Whether the execution of the last decided tick is known to exist (R3)."""
        return head.fired_through is None or self._inserted.get(head.job_id) == head.fired_through


def _note(notes: OrderedDict[JobId, NotedT], job_id: JobId, noted: NotedT) -> None:
    notes[job_id] = noted
    notes.move_to_end(job_id)
    if len(notes) > _JOBS_MAX:
        notes.popitem(last=False)
