"""Small words for lists, ranges and ordinals. Must not know schedules."""

from collections.abc import Sequence
from itertools import pairwise

_TEENS = (11, 12, 13)


def numbers(bits: int) -> list[int]:
    """The positions of the bits, lowest first."""
    return [at for at in range(bits.bit_length()) if bits >> at & 1]


def counted(number: int, unit: str) -> str:
    """`1 second`, `90 seconds`."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def joined(parts: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:  # noqa: PLR2004 -- one part needs no word between
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def spans(values: Sequence[int], names: Sequence[str] | None = None) -> str:
    """`0 to 20 and 45`: runs of three and more as a range."""
    starts = [values[0], *(right for left, right in pairwise(values) if right != left + 1)]
    ends = [*(left for left, right in pairwise(values) if right != left + 1), values[-1]]
    parts: list[str] = []
    for start, end in zip(starts, ends, strict=True):
        told = [str(one) if names is None else names[one] for one in range(start, end + 1)]
        parts += [f"{told[0]} to {told[-1]}"] if end > start + 1 else told
    return joined(parts)


def step_of(values: Sequence[int], end: int) -> int:
    """The step if the values go on at one distance (2 or more) until `end`; 0 if they follow no such pattern."""
    if len(values) < 3:  # noqa: PLR2004 -- two values make no pattern
        return 0
    step = values[1] - values[0]
    return step if step > 1 and list(values) == list(range(values[0], end, step)) else 0


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`."""
    if number % 100 in _TEENS:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
