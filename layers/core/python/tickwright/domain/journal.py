"""What the journal is: pages of entries, each naming something in motion that nobody has yet seen finished.

Must not know a store. What is owed is always on a durable list and stays there until it is done (SEM-JOURNAL-1); this
is the list for everything that waits neither for a time nor for an event.
"""

from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId, is_manual, time_of
from tickwright.domain.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing set in motion: the execution it names, and the job's version seen."""

    job_id: JobId
    key: ExecutionKey
    version: int

    @property
    def ref(self) -> ExecutionRef:
        """The execution that it names."""
        return ExecutionRef(self.job_id, self.key)

    @property
    def tick(self) -> Instant:
        """The tick that it names (of a manual entry: when it was asked for)."""
        return time_of(self.key)

    @property
    def is_manual(self) -> bool:
        """Whether somebody asked for the run: then no tick was decided."""
        return is_manual(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Entries that are looked at again at `check_at`; `looks` grows with each move to a newer page.

    `looked_at`: when the look was that made this page; None of a first page, and of those of older versions.
    """

    bucket: int
    check_at: Instant
    writer: str  # fresh for each page, so that no two writers share a key
    entries: tuple[Entry, ...]
    looks: int = 0
    looked_at: Instant | None = None

    def __post_init__(self) -> None:
        """A page is never empty and never too big."""
        assert 0 < len(self.entries) <= limits.PAGE_ENTRIES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPage:
    """A page that stands in one transaction with what it names, which exists already and is set in motion again."""

    page: Page

    def decide(self, old: Page | None) -> Page | None:
        """Its writer is fresh, so there is none."""
        return self.page if old is None else None

    def mine(self, old: Page) -> bool:
        """The same writer's, and a writer writes one page."""
        return old == self.page


def next_check(now: Instant, looks: int, first_check_ms: int, recheck_ms_max: int) -> Instant:
    """When entries kept for the `looks`-th time are looked at again: 2, 4, ... 60 minutes."""
    return Instant(now + min(first_check_ms << min(looks, 20), recheck_ms_max))
