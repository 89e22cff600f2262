"""What a run says while it runs: the end of it is kept, within bounds, and what was cut before it is counted.

Must not know where it is kept. Written to from any thread, and without a lock, which the domain does not have: each
touch of the list is one step of the interpreter.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from tickwright.domain import limits

_PARTS_MAX = 64  # so many bits of text are gathered before they are joined: a long log costs a copy now and then
_CONTINUES, _OF_A_CHARACTER = 0b1000_0000, 0b1100_0000  # a byte of UTF-8 that goes on with a character


class Tail(NamedTuple):
    """The end of a log, and how many bytes before it were not kept."""

    text: str
    cut: int


NOTHING_SAID = Tail(text="", cut=0)


class _Part(NamedTuple):
    said: bytes
    cut: int


@dataclass(slots=True)
class LogTail:
    """Gathers what one attempt says; whoever keeps it asks for its tail."""

    _parts: list[_Part] = field(default_factory=list)
    _turn: list[None] = field(default_factory=lambda: [None])  # whoever has taken its one entry shortens the list

    def write(self, text: str) -> None:
        """Say more."""
        self._parts.append(_end_of(text.encode("utf-8", "replace"), 0))
        if len(self._parts) > _PARTS_MAX:
            self._shorten()

    def tail(self) -> Tail:
        """The last of what was said, in whole characters."""
        said, cut = _joined(self._parts[:])
        start = 0
        while cut and start < len(said) and said[start] & _OF_A_CHARACTER == _CONTINUES:
            start += 1
        return Tail(text=said[start:].decode(), cut=cut + start)

    def _shorten(self) -> None:
        try:
            self._turn.pop()
        except IndexError:
            return  # another thread is at it
        try:
            parts = self._parts[:]
            self._parts[: len(parts)] = [_joined(parts)]  # what is said meanwhile stands behind these
        finally:
            self._turn.append(None)


def _joined(parts: list[_Part]) -> _Part:
    return _end_of(b"".join(part.said for part in parts), sum(part.cut for part in parts))


def _end_of(said: bytes, cut: int) -> _Part:
    kept = said[-limits.LOG_BYTES_MAX :]
    return _Part(kept, cut + len(said) - len(kept))
