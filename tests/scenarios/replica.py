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
from tickwright.domain.tenants import ApiKey
from tickwright.ports.store import Listing
from tickwright.ports.whole import Scanned, Sign

_Place = tuple[int, Key]


@dataclass(frozen=True, slots=True)
class _Written:
    """One write of the source, on its way."""

    at_ms: int
    arrives_ms: int
    entity: Entity[Any]
    item: Any


@dataclass(slots=True)
class Replica:
    """Follows the commits of one Region; `lag_ms` is the longest that an item is on its way."""

    source: State
    lags: Stream
    lag_ms: int
    _written: dict[_Place, list[_Written]] = field(default_factory=dict)
    _written_there: dict[_Place, int] = field(default_factory=dict)
    _cut_ms: int = 0

    def __post_init__(self) -> None:
        """Begin to follow."""
        self.source.listeners.append(self._on_commit)

    def _on_commit(self, commit: Commit) -> None:
        if (found := _place_of(commit)) is None:
            return
        place, entity = found
        at_ms = self.source.now_ms()
        arrives_ms = at_ms + self.lags.between(0, self.lag_ms)
        self._written.setdefault(place, []).append(_Written(at_ms, arrives_ms, entity, commit.new))

    def cut_off(self, target: State) -> None:
        """The source is lost now: what has arrived is all that there is. Indexes follow the items."""
        self._cut_ms = self.source.now_ms()
        arrived = {
            place: [one for one in each if one.arrives_ms <= self._cut_ms] for place, each in self._written.items()
        }
        for (_, key), each in arrived.items():
            if each:
                last = each[-1]  # the last that was written, in whatever order they arrived
                target.take(last.entity, key, last.item)
        target.listeners.append(self._on_commit_there)

    def _on_commit_there(self, commit: Commit) -> None:
        if (found := _place_of(commit)) is not None:
            self._written_there[found[0]] = self.source.now_ms()

    def heal(self, target: State) -> int:
        """All that the source has written since comes over; of two writes of an item the later wins. How many came."""
        came = 0
        for place, each in self._written.items():
            last = each[-1]
            if last.arrives_ms > self._cut_ms and last.at_ms > self._written_there.get(place, -1):
                target.take(last.entity, place[1], last.item)
                came += 1
        return came


def _place_of(commit: Commit) -> tuple[_Place, Entity[Any]] | None:
    """Where a Region has written; None of what has come from elsewhere, and of pages, which are not replicated."""
    if commit.change is None:
        return None
    entity, key_of = PLACES[type(commit.change)]
    return None if entity is PAGES else ((id(entity), tuple(key_of(commit.change))), entity)


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

    async def every_sign_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Sign]:
        """There is one tenant, which has jobs."""
        assert limit > 0
        assert after_key is None
        return Scanned(items=[])

    async def every_api_key_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[ApiKey]:
        """Nobody lists them here."""
        raise NotImplementedError

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
