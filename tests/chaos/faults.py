"""What befalls the calls between the processes and the services of AWS: drawn from the seed, before anything starts.

Each life of a process, and each service, has a stream of its own: some of its writes are struck by their number, and
there are windows of time in which calls of everybody are. Must not know HTTP: tests/chaos/proxy.py carries it out.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Service(Enum):
    """Who is called."""

    DYNAMODB = "dynamodb"
    SQS = "sqs"


class Kind(Enum):
    """What befalls a call. Of LOST, LATE_ERROR and HELD the caller cannot know that it was carried out."""

    CUT = "cut"  # the connection ends before the service hears of it
    LOST = "lost"  # it is carried out, and the connection ends before the reply
    ERROR = "error"  # the answer is 500, and nothing was done
    LATE_ERROR = "lateError"  # the answer is 500, and all was done
    THROTTLE = "throttle"
    CONFLICT = "conflict"  # the items are in somebody else's transaction; each part of a batch is refused by itself
    DELAY = "delay"  # within the caller's patience
    HELD = "held"  # past it: it is carried out after the caller has asked again, or is dead


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault; `for_ms` is how long a call is kept back."""

    kind: Kind
    for_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time in which a share of all calls of a service is struck."""

    service: Service
    from_ms: int
    until_ms: int
    kind: Kind
    share: float


WRITES = frozenset(
    {
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "TransactWriteItems",
        "BatchExecuteStatement",
        "SendMessage",
        "SendMessageBatch",
        "DeleteMessageBatch",
        "ChangeMessageVisibility",
    }
)
_AT_WRITES = (
    Kind.LOST,
    Kind.LOST,
    Kind.LOST,
    Kind.CUT,
    Kind.LATE_ERROR,
    Kind.ERROR,
    Kind.THROTTLE,
    Kind.CONFLICT,
    Kind.DELAY,
    Kind.HELD,
)
_IN_WINDOWS = (Kind.CUT, Kind.ERROR, Kind.THROTTLE, Kind.LOST, Kind.DELAY)
_FIRST_WRITES = (5, 25)
_NEXT_WRITES = (15, 70)
_WINDOW_EVERY_MS = (4_000, 9_000)
_WINDOW_MS = (200, 900)
_IN_BLACKOUTS = (Kind.CUT, Kind.ERROR, Kind.THROTTLE)
_BLACKOUT_MS = (2_500, 3_500)
_DELAY_MS = (50, 900)
_HELD_MS = (3_200, 4_500)  # a caller of DynamoDB waits for three seconds


def windows(seed: int, *, begin_ms: int, quiet_ms: int) -> list[Window]:
    """The windows of a run, in milliseconds after its start; all are over when the faults are."""
    dark = [_blackout_of(service, seed, begin_ms, quiet_ms) for service in Service]
    return dark + [one for service in Service for one in _windows_of(service, seed, begin_ms, quiet_ms)]


def _blackout_of(service: Service, seed: int, begin_ms: int, quiet_ms: int) -> Window:
    """Once no call comes through for longer than anybody tries again: all must give up, and come back."""
    draw = random.Random(f"{seed}/blackout/{service.value}")
    from_ms = begin_ms + round((quiet_ms - begin_ms) * draw.uniform(0.2, 0.8))
    until_ms = from_ms + draw.randint(*_BLACKOUT_MS)
    return Window(service=service, from_ms=from_ms, until_ms=until_ms, kind=draw.choice(_IN_BLACKOUTS), share=1.0)


def _windows_of(service: Service, seed: int, begin_ms: int, quiet_ms: int) -> Iterator[Window]:
    draw = random.Random(f"{seed}/windows/{service.value}")
    from_ms = begin_ms + draw.randint(*_WINDOW_EVERY_MS)
    while (until_ms := from_ms + draw.randint(*_WINDOW_MS)) <= quiet_ms:
        kind, share = draw.choice(_IN_WINDOWS), draw.choice((0.3, 0.6, 1.0))
        yield Window(service=service, from_ms=from_ms, until_ms=until_ms, kind=kind, share=share)
        from_ms = until_ms + draw.randint(*_WINDOW_EVERY_MS)


def purge_at_ms(seed: int, *, begin_ms: int, quiet_ms: int) -> int:
    """When somebody empties the ready queues, once."""
    span_ms = quiet_ms - begin_ms
    return begin_ms + round(span_ms * random.Random(f"{seed}/purge").uniform(0.3, 0.7))


def struck_writes(seed: int, member: str, service: Service) -> Iterator[tuple[int, Fault]]:
    """The numbers of one life's writes that are struck, and by what; without an end."""
    draw = random.Random(f"{seed}/{member}/{service.value}")
    number = draw.randint(*_FIRST_WRITES)
    while True:
        yield number, _fault(draw.choice(_AT_WRITES), draw)
        number += draw.randint(*_NEXT_WRITES)


def _fault(kind: Kind, draw: random.Random) -> Fault:
    spans = {Kind.DELAY: _DELAY_MS, Kind.HELD: _HELD_MS}
    return Fault(kind=kind, for_ms=draw.randint(*spans[kind]) if kind in spans else 0)


@dataclass(slots=True, kw_only=True)
class Fate:
    """The faults of one service as its calls come in."""

    seed: int
    service: Service
    windows: Sequence[Window]
    quiet_ms: int
    _calls: Counter[str] = field(default_factory=Counter)
    _writes: Counter[str] = field(default_factory=Counter)
    _streams: dict[str, Iterator[tuple[int, Fault]]] = field(default_factory=dict)
    _next: dict[str, tuple[int, Fault]] = field(default_factory=dict)

    def meet(self, member: str, operation: str, at_ms: int) -> Fault | None:
        """What befalls this call of a member, so long after the start."""
        self._calls[member] += 1
        struck = self._by_number(member) if operation in WRITES else None
        if at_ms >= self.quiet_ms:
            return None
        return struck or self._by_time(member, at_ms)

    def _by_number(self, member: str) -> Fault | None:
        self._writes[member] += 1
        stream = self._streams.setdefault(member, struck_writes(self.seed, member, self.service))
        number, fault = self._next.get(member) or next(stream)
        is_now = number <= self._writes[member]
        self._next[member] = next(stream) if is_now else (number, fault)
        return fault if is_now else None

    def _by_time(self, member: str, at_ms: int) -> Fault | None:
        window = next((one for one in self.windows if self._is_in(one, at_ms)), None)
        if window is None:
            return None
        draw = random.Random(f"{self.seed}/{member}/{self.service.value}/call/{self._calls[member]}")
        return _fault(window.kind, draw) if draw.random() < window.share else None

    def _is_in(self, window: Window, at_ms: int) -> bool:
        return window.service is self.service and window.from_ms <= at_ms < window.until_ms
