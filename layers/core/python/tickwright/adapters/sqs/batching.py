"""How entries are parted into requests: ten at most, and a megabyte at most together."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from tickwright.domain import limits

EntryT = TypeVar("EntryT")

# SQS takes 1,048,576 bytes a request, attributes and group among them: those are under a kilobyte for each of ten.
BYTES_MAX: Final = 1_000_000


def batches_of(entries: Iterable[EntryT], size_of: Callable[[EntryT], int]) -> Iterator[list[EntryT]]:
    """The entries in their order, in few requests within the limits. One that is too big goes alone, to be refused."""
    batch: list[EntryT] = []
    size = 0
    for entry in entries:
        entry_size = size_of(entry)
        if batch and (len(batch) == limits.MESSAGES_A_BATCH or size + entry_size > BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry_size
    if batch:
        yield batch
