"""Copies of what was shown of jobs and executions, for while the store does not answer.

Never the truth, and never asked while the store answers: a cache may forget anything at any time. Promise: SEM-STALE-1.
"""

from dataclasses import dataclass
from typing import Protocol

from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a copy is of: whose, and at which path. Both are asked for together, so no tenant meets another's."""

    tenant_id: TenantId
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """An answer's body. `as_of`: when it was asked for, so that what it says was true then or later."""

    body: bytes
    as_of: Instant


class StatusCache(Protocol):
    """Where copies are: in this process, or in a service that many share."""

    async def put(self, place: Place, copy: Copy) -> None:
        """Keep a copy for COPY_S_MAX, in place of an older one. Raises CacheUnavailable.

        One of more than COPY_BYTES_MAX is not kept, and nor is what it would have replaced.
        """
        ...

    async def get(self, place: Place) -> Copy | None:
        """The copy that was put last, of this very place; None if there is none any more. Raises CacheUnavailable."""
        ...
