"""Which definitions this process remembers: they never change, so a hit is right for ever, and memory is the bound."""

from collections import OrderedDict
from typing import Final

from tickwright.domain.ids import JobId
from tickwright.domain.jobs import Definition

_COUNT_MAX: Final = 2_000
_PAYLOAD_CHARS_MAX: Final = 16_000_000  # of all together: a function has a few hundred megabytes


class Definitions:
    """The definitions used last, up to both bounds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[JobId, int], Definition] = OrderedDict()
        self._chars = 0

    def get(self, job_id: JobId, version: int) -> Definition | None:
        """One that is remembered; it counts as used."""
        found = self._kept.get((job_id, version))
        if found is not None:
            self._kept.move_to_end((job_id, version))
        return found

    def keep(self, definition: Definition) -> None:
        """Remember it; the ones unused longest go."""
        if (definition.job_id, definition.version) in self._kept:
            return
        self._kept[definition.job_id, definition.version] = definition
        self._chars += len(definition.spec.payload)
        while len(self._kept) > _COUNT_MAX or self._chars > _PAYLOAD_CHARS_MAX:
            _, gone = self._kept.popitem(last=False)
            self._chars -= len(gone.spec.payload)
