"""What every service is given: the ports, and the few settings that the protocol has."""

from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.events import EventName, Happening
from tickwright.domain.limits import Durations
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.queue import Queue
from tickwright.ports.store import Store
from tickwright.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The ports in one hand. `buckets` is the count for jobs created from now on; the loops read all of them."""

    store: Store
    queue: Queue
    clock: Clock
    entropy: Entropy
    telemetry: Telemetry
    durations: Durations = field(default_factory=Durations)
    buckets: int = 16
    retention_s: int = limits.RETENTION_S_DEFAULT

    def emit(self, name: EventName, /, *, measured: dict[str, float] | None = None, **about: str) -> None:
        """Note one event."""
        self.telemetry.emit(Happening(name=name, measured=measured or {}, about=about))
