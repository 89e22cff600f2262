"""What every service is given: the ports, and the few settings that the protocol has."""

from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.events import EventName, Happening
from tickwright.domain.ids import Epoch
from tickwright.domain.limits import Durations
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.queue import Queue
from tickwright.ports.store import Store
from tickwright.ports.telemetry import Telemetry


@dataclass(slots=True)
class NotedBase:
    """The highest epoch base that a process has found noted; None: it has not asked yet (services/eras.py)."""

    base: Epoch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The ports in one hand. `buckets` is the count for what is written from now on; the loops read `buckets_read`.

    `served`: how many they read, where that is more. `era`: which epochs this installation hands out, as its settings
    say; `noted`: what the process has learnt besides, None where the settings are all there is.
    """

    store: Store
    queue: Queue
    clock: Clock
    entropy: Entropy
    telemetry: Telemetry
    durations: Durations = field(default_factory=Durations)
    buckets: int = 16
    served: int = 0
    era: Era = FIRST_ERA
    noted: NotedBase | None = None
    retention_s: int = limits.RETENTION_S_DEFAULT

    @property
    def buckets_read(self) -> int:
        """How many buckets the loops look at: never fewer than are written to."""
        return max(self.served, self.buckets)

    def emit(self, name: EventName, /, *, measured: dict[str, float] | None = None, **about: str) -> None:
        """Note one event."""
        self.telemetry.emit(Happening(name=name, measured=measured or {}, about=about))
