"""What a contract suite is run against: a backend, which makes fresh places, on which stores or queues are opened.

Several objects may be opened on one place at once, each in a thread and an event loop of its own, as other programs
would. What a backend cannot do it says by a missing capability, and the skip is printed.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

import pytest

PortT = TypeVar("PortT")
PortT_co = TypeVar("PortT_co", covariant=True)


class Capability(Enum):
    """What not every backend can do."""

    EXACT_DELAY = "a delay is exact to the millisecond, not rounded to seconds"


class Place(Protocol[PortT_co]):
    """One fresh, isolated store or queue."""

    def open(self) -> AbstractAsyncContextManager[PortT_co]:
        """An object on it, for the thread and the event loop of the caller."""
        ...


@dataclass(frozen=True, slots=True)
class Backend(Generic[PortT]):
    """One way to keep a port's promises. Its name is a test's parameter, for an emulator that of its fixture."""

    name: str
    place: Callable[[pytest.FixtureRequest], AbstractContextManager[Place[PortT]]]
    capabilities: frozenset[Capability] = frozenset()
