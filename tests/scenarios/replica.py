"""What another Region has of an installation's tables: each item as it was some while ago, each as late as chance says.

As a global table with asynchronous replication: an item arrives by itself, whatever was written beside it, and the last
write of an item wins. Must not know what is done with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.scenarios.installation import IndexedStore
from tests.sim.draws import Stream
from tests.sim.state import Commit, Key, State
from tickwright.adapters.embedded.entities import PAGES, PLACES, Entity
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.jobs import Head
from tickwright.domain.pools import Pool
from tickwright.ports.store import Listing
from tickwright.ports.whole import Scanned

_Place = tuple[int, Key]


@dataclass(slots=True)
class Replica:
    """Follows the commits of one Region; `lag_ms` is the longest that an item is on its way."""

    source: State
    lags: Stream
    lag_ms: int
    _written: dict[_Place, list[tuple[int, Entity[Any], Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin to follow."""
        self.source.listeners.append(self._on_commit)

    def _on_commit(self, commit: Commit) -> None:
        assert commit.change is not None
        entity, key_of = PLACES[type(commit.change)]
        if entity is not PAGES:
            arrives_ms = self.source.now_ms() + self.lags.between(0, self.lag_ms)
            place = (id(entity), tuple(key_of(commit.change)))
            self._written.setdefault(place, []).append((arrives_ms, entity, commit.new))

    def cut_off(self, target: State) -> None:
        """The source is lost now: what has arrived is all that there ever will be. Indexes follow the items."""
        now_ms = self.source.now_ms()
        arrived = {place: [one for one in each if one[0] <= now_ms] for place, each in self._written.items()}
        for (_, key), each in arrived.items():
            if each:
                _, entity, item = each[-1]  # the last that was written, in whatever order they arrived
                target.take(entity, key, item)


@dataclass(slots=True)
class WholeOfState(IndexedStore):
    """A store of the other Region as its operator has it."""

    async def every_head_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Head]:
        """All at once: it is a simulation."""
        assert limit > 0
        assert after_key is None
        return Scanned(items=list(self.state.heads.values()), next_key=None)

    async def every_execution_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Execution]:
        """All at once."""
        assert limit > 0
        assert after_key is None
        return Scanned(items=[row for rows in self.state.executions.values() for row in rows.values()])

    async def every_tenant_eventually(self, *, limit: int, after_key: str | None = None) -> Listing[TenantId]:
        """There is one, which has jobs."""
        assert limit > 0
        assert after_key is None
        return Listing(items=[], next_key=None)

    async def pools_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
        """Nobody has one."""
        return Listing(items=[], next_key=None)

    async def forget_executions(self, refs: object) -> None:
        """Nothing is removed here."""
        raise NotImplementedError

    async def forget_job(self, tenant_id: TenantId, job_id: JobId) -> None:
        """Nothing is removed here."""
        raise NotImplementedError

    async def jobs_kept_of_eventually(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Any:  # noqa: ANN401
        """Nothing is removed here."""
        raise NotImplementedError

    async def executions_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Any:  # noqa: ANN401
        """Nothing is removed here."""
        raise NotImplementedError

    async def forget_records(self, tenant_id: TenantId, *, limit: int) -> int:
        """Nothing is removed here."""
        raise NotImplementedError

    async def deletion(self, tenant_id: TenantId) -> None:
        """Nobody is deleted here."""
        raise NotImplementedError

    async def call_off(self, change: object) -> bool:
        """Nobody is deleted here."""
        raise NotImplementedError

    async def put_deletion(self, change: object) -> bool:
        """Nobody is deleted here."""
        raise NotImplementedError


def epochs_of(rows: Mapping[JobId, Mapping[Any, Execution]]) -> dict[ExecutionRef, int]:
    """Each execution's epoch."""
    return {row.ref: row.lease_epoch for each in rows.values() for row in each.values()}
