"""Events kept in memory, for tests and for the live table of `make run`."""

from collections import Counter, deque

from tickwright.domain.events import EventName, Happening


class MemoryTelemetry:
    """Keeps the last events and counts all of them."""

    def __init__(self, keep: int = 10_000) -> None:
        """Keep at most so many."""
        self.happenings: deque[Happening] = deque(maxlen=keep)
        self.counts: Counter[EventName] = Counter()

    def emit(self, happening: Happening) -> None:
        """Note one event."""
        self.happenings.append(happening)
        self.counts[happening.name] += 1
