"""What is stored in a simulated installation, and every commit of it: the truth, with its indexes some way behind.

Carries out each change as the port says: the change decides. Must not know processes, faults or what is right: whoever
listens to the commits judges them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.sim.draws import Stream
from tickwright.adapters.embedded.entities import (
    CALENDARS,
    EXECUTIONS,
    HEADS,
    ORDERS,
    PAGES,
    PLACES,
    Entity,
    calendar_key,
)
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Page
from tickwright.domain.redrive_orders import Order
from tickwright.domain.schedules import Calendar
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused

Key = tuple[Any, ...]
PageKey = tuple[int, Instant, str]


def _stands(key: Key, calendar: Calendar) -> bool:
    return key == calendar_key(calendar.tenant_id, calendar.name)  # and is not kept as one of its versions


@dataclass(frozen=True, slots=True)
class Commit:
    """One write that was applied: by whom, of which change, and the item before and after it."""

    by: str
    change: AnyChange | None
    old: Any
    new: Any


@dataclass(slots=True)
class _Shown:
    """An item as the indexes show it: each version from an instant of its own on."""

    versions: list[tuple[int, Any]] = field(default_factory=list)

    def put(self, now_ms: int, visible_ms: int, item: object) -> None:
        """The versions before the last that is visible now are never shown again."""
        seen = [number for number, (since_ms, _) in enumerate(self.versions) if since_ms <= now_ms]
        del self.versions[: seen[-1] if seen else 0]
        self.versions.append((visible_ms, item))

    def at(self, now_ms: int) -> Any:  # noqa: ANN401 - items of any kind
        """The last version that is visible: with lags that differ an index may seem to go back."""
        return next((item for visible_ms, item in reversed(self.versions) if visible_ms <= now_ms), None)


@dataclass(slots=True)
class State:
    """All items. `now_ms` is the true time; `lag_ms` how far an index may be behind."""

    now_ms: Callable[[], int]
    lags: Stream
    lag_ms: int = 0
    items: dict[tuple[int, Key], Any] = field(default_factory=dict)
    executions: dict[JobId, dict[ExecutionKey, Execution]] = field(default_factory=dict)
    heads: dict[JobId, Head] = field(default_factory=dict)
    pages: dict[PageKey, Page] = field(default_factory=dict)
    listeners: list[Callable[[Commit], None]] = field(default_factory=list)
    on_drop: list[Callable[[Page], None]] = field(default_factory=list)
    _shown_heads: dict[JobId, _Shown] = field(default_factory=dict)
    _shown_rows: dict[tuple[JobId, ExecutionKey], _Shown] = field(default_factory=dict)

    # --- reads ---------------------------------------------------------------------------------------------------
    def item(self, entity: Entity[Any], key: Key) -> Any:  # noqa: ANN401 - items of any kind
        """One item, or None."""
        return self.items.get((id(entity), key))

    def shown_heads(self) -> Iterator[Head]:
        """The heads as the indexes show them."""
        now = self.now_ms()
        yield from (head for shown in self._shown_heads.values() if (head := shown.at(now)) is not None)

    def shown_executions(self) -> Iterator[Execution]:
        """The executions that stand or stood in an index, as the indexes show them."""
        now = self.now_ms()
        yield from (row for shown in self._shown_rows.values() if (row := shown.at(now)) is not None)

    def calendars(self) -> list[Calendar]:
        """All calendars as they stand, by tenant and name."""
        standing = (one for (kind, key), one in self.items.items() if kind == id(CALENDARS) and _stands(key, one))
        return sorted(standing, key=lambda one: (one.tenant_id, one.name))

    def orders(self) -> list[Order]:
        """All orders to redrive, by tenant and id."""
        given = [one for (kind, _), one in self.items.items() if kind == id(ORDERS)]
        return sorted(given, key=lambda one: (one.tenant_id, one.order_id))

    # --- writes --------------------------------------------------------------------------------------------------
    def write(self, change: AnyChange, by: str) -> Outcome[Any]:
        """Load, decide, save."""
        entity, key_of = PLACES[type(change)]
        key = tuple(key_of(change))
        old = self.item(entity, key)
        new = change.decide(old)
        if new is None:
            return Applied(old) if old is not None and change.mine(old) else Refused(old)
        self._save(entity, key, new)
        self._tell(Commit(by, change, old, new))
        return Applied(new)

    def write_together(self, changes: Sequence[AnyChange], by: str) -> list[Outcome[Any]]:
        """All decided first, then all saved, or none."""
        places = [(*PLACES[type(change)], change) for change in changes]
        judged = []
        for entity, key_of, change in places:
            key = tuple(key_of(change))
            old = self.item(entity, key)
            judged.append((entity, key, old, change.decide(old), change))
        outcomes: list[Outcome[Any]] = []
        for _, _, old, new, change in judged:
            mine = new is None and old is not None and change.mine(old)
            outcomes.append(Applied(old if mine else new) if mine or new is not None else Refused(old))
        if any(isinstance(outcome, Refused) for outcome in outcomes):
            return [Refused(old) for _, _, old, _, _ in judged]
        for entity, key, _, new, _ in judged:
            if new is not None:
                self._save(entity, key, new)
        for _, _, old, new, change in judged:
            if new is not None:
                self._tell(Commit(by, change, old, new))
        return outcomes

    def take(self, entity: Entity[Any], key: Key, item: Any) -> None:  # noqa: ANN401 - items of any kind
        """An item that was written elsewhere, as it arrives: nothing is decided."""
        old = self.item(entity, key)
        self._save(entity, key, item)
        self._tell(Commit("elsewhere", None, old, item))

    def put_page(self, page: Page) -> None:
        """J."""
        self.pages[page.bucket, page.check_at, page.writer] = page

    def delete_page(self, page: Page) -> None:
        """Delete it, if it is there."""
        if self.pages.pop((page.bucket, page.check_at, page.writer), None) is not None:
            for listener in self.on_drop:
                listener(page)

    def _save(self, entity: Entity[Any], key: Key, new: Any) -> None:  # noqa: ANN401 - items of any kind
        self.items[id(entity), key] = new
        if entity is HEADS:
            self.heads[new.job_id] = new
            self._shown_heads.setdefault(new.job_id, _Shown()).put(self.now_ms(), self._visible_ms(), new)
        elif entity is PAGES:
            self.put_page(new)
        elif entity is EXECUTIONS:
            self.executions.setdefault(new.job_id, {})[new.key] = new
            place = (new.job_id, new.key)
            if new.wait_key is not None or new.failed_at is not None or place in self._shown_rows:
                self._shown_rows.setdefault(place, _Shown()).put(self.now_ms(), self._visible_ms(), new)

    def _visible_ms(self) -> int:
        return self.now_ms() + (self.lags.between(0, self.lag_ms) if self.lag_ms else 0)

    def _tell(self, commit: Commit) -> None:
        for listener in self.listeners:
            listener(commit)
