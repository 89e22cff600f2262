"""What only an operator asks of a store: all there is in it, and to forget what was a tenant's.

Apart from ports/store.py because no function of an installation may do any of it. Whatever is forgotten may be asked to
be forgotten again: dying anywhere leaves the rest for the next time. Reads may be stale: who decides, reads again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar, runtime_checkable

from tickwright.domain.deletions import CallOff, Deletion, PutDeletion
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.jobs import Head
from tickwright.domain.tenants import ApiKey
from tickwright.ports.store import Listing

ItemT = TypeVar("ItemT")
UNREADABLE: Final = (KeyError, ValueError, TypeError, AttributeError, AssertionError)  # what a row's reading ends in


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned(Generic[ItemT]):
    """A page of all there is. `unreadable`: where the rows lie that cannot be read, by the parts of their keys."""

    items: Sequence[ItemT]
    next_key: str | None = None
    unreadable: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """That there is a tenant: by a key of it, or by some other record. Or how far its deletion has come."""

    tenant_id: TenantId
    key: ApiKey | None = None
    deletion: Deletion | None = None


class Whole(Protocol):
    """A store, as a whole."""

    async def every_head_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Head]:
        """All heads, in no order; a page may hold fewer than `limit`, and none, though there is a next."""
        ...

    async def every_execution_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Execution]:
        """All executions, in no order; pages as of heads."""
        ...

    async def every_api_key_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[ApiKey]:
        """All API keys, by a look at `limit` records of all kinds; pages as of heads."""
        ...

    async def every_sign_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Sign]:
        """What tells of each tenant that is there, jobs or none, or was; pages as of API keys."""
        ...

    async def forget_executions(self, refs: Sequence[ExecutionRef]) -> None:
        """Forget these: first what was kept of each (logs, a payload of its own), then the rows. At most 100."""
        ...

    async def jobs_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[JobId]:
        """The jobs of which a head or a version of this tenant is there, by a look at `limit` rows of all tenants.

        Each perhaps more than once; a page may hold none, though there is a next.
        """
        ...

    async def executions_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[ExecutionRef]:
        """The executions of this tenant, whether or not their job is there; pages as of jobs."""
        ...

    async def forget_job(self, tenant_id: TenantId, job_id: JobId) -> None:
        """Forget a tenant's versions of a job, then its head: while that stands, the job is found."""
        ...

    async def forget_records(self, tenant_id: TenantId, *, limit: int) -> int:
        """Forget up to so many of the records that lie under a tenant; how many. Its deletion's own stays.

        Names, requests, calendars with their versions, pools, seats, the rotation, orders to redrive, and API keys.
        """
        ...

    async def deletion(self, tenant_id: TenantId) -> Deletion | None:
        """How far the deletion of a tenant has come, strongly read."""
        ...

    async def put_deletion(self, change: PutDeletion) -> bool:
        """Write it over what was seen, and nothing else; whether it stands now, also after a lost reply."""
        ...

    async def call_off(self, change: CallOff) -> bool:
        """Take the record away if it is as it has to be; whether there is none now."""
        ...


@runtime_checkable
class Undivided(Protocol):
    """A store that can be had as a whole."""

    def whole(self) -> Whole:
        """All that it keeps."""
        ...
