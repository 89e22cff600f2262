"""Which definitions this process remembers: they never change, so a hit is right for as long as their tenant is there.

One that was deleted may be imported back, and go on from an older version under the same number: so whoever is not told
of a deletion forgets each after a while, well within the rest that a deletion takes before rows go.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from tickwright.domain import limits
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition
from tickwright.ports.clock import Clock

_COUNT_MAX: Final = 2_000
_PAYLOAD_CHARS_MAX: Final = 16_000_000  # of all together: a function has a few hundred megabytes
_AGE_MS_MAX: Final = limits.DEFINITION_KEPT_S * 1_000


@dataclass(frozen=True, slots=True)
class _Kept:
    definition: Definition
    at: Instant
    at_ms: int


class Definitions:
    """The definitions used last, up to both bounds, and with a clock up to their age, whichever clock has gone further.

    Without one they stay until they are forgotten: for a store whose deletions are all of this process.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[JobId, int], _Kept] = OrderedDict()
        self._chars = 0

    def get(self, job_id: JobId, version: int) -> Definition | None:
        """One that is remembered; it counts as used."""
        found = self._kept.get((job_id, version))
        if found is None or self._is_old(found):
            return None
        self._kept.move_to_end((job_id, version))
        return found.definition

    def keep(self, definition: Definition) -> None:
        """Remember it as it was read now; the ones unused longest go."""
        place = (definition.job_id, definition.version)
        self._drop(place)
        self._kept[place] = _Kept(definition, *self._now())
        self._chars += len(definition.spec.payload)
        while len(self._kept) > _COUNT_MAX or self._chars > _PAYLOAD_CHARS_MAX:
            self._drop(next(iter(self._kept)))

    def forget(self, job_id: JobId) -> None:
        """All versions of a job, which is no more."""
        for place in [one for one in self._kept if one[0] == job_id]:
            self._drop(place)

    def _drop(self, place: tuple[JobId, int]) -> None:
        gone = self._kept.pop(place, None)
        self._chars -= 0 if gone is None else len(gone.definition.spec.payload)

    def _is_old(self, kept: _Kept) -> bool:
        now, now_ms = self._now()
        return max(now - kept.at, now_ms - kept.at_ms) > _AGE_MS_MAX

    def _now(self) -> tuple[Instant, int]:
        return (Instant(0), 0) if self._clock is None else (self._clock.now(), self._clock.monotonic_ms())
