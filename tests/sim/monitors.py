"""What must hold at every commit, whoever makes it; the names are those of the protocol's invariants.

Must not know why a commit was made. What can be judged only at the end stands in tests/chaos/checker.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.chaos.book import Violation
from tests.sim.state import Commit, State
from tickwright.domain.executions import Execution, key_of_occupant
from tickwright.domain.ids import ExecutionRef, tick_key
from tickwright.domain.jobs import Head, JobStatus, Overlap
from tickwright.domain.journal import Entry, Page
from tickwright.domain.redrive_orders import Order, OrderStatus
from tickwright.domain.transitions import TERMINAL
from tickwright.domain.transitions import State as Life


@dataclass(slots=True)
class Monitors:
    """Listens to the commits of a state."""

    state: State
    found: list[Violation] = field(default_factory=list)
    _opened_by: set[tuple[str, ExecutionRef]] = field(default_factory=set)  # an order, and what it has redriven

    def on_commit(self, commit: Commit) -> None:
        """Judge one write."""
        match commit.old, commit.new:
            case (Execution() as old, Execution() as new):
                self._note(new.job_id, _execution_moved(old, new))
                self._note(new.job_id, self._opened(old, new))
            case (None, Execution() as new):
                self._note(new.job_id, self._inserted(new))
            case (Head() as old, Head() as new):
                self._note(new.job_id, _head_moved(old, new))
                self._note(new.job_id, self._occupied(old, new))
                self._note(new.job_id, self._decided(old, new))
            case (Order() as old, Order() as new):
                self._note("-", self._moved_on(old, new))
            case _:
                return

    def on_drop(self, page: Page) -> None:
        """Judge a page that goes: all that it named is done, or stands on another list."""
        for entry in page.entries:
            self._note(entry.job_id, self._dropped(entry))

    def _note(self, job_id: str, told: Iterator[tuple[str, str]]) -> None:
        self.found += [Violation(name=name, job=job_id, detail=detail) for name, detail in told]

    def _is_listed(self, ref: ExecutionRef) -> bool:
        return any(entry.ref == ref for page in self.state.pages.values() for entry in page.entries)

    def _inserted(self, new: Execution) -> Iterator[tuple[str, str]]:
        if not new.is_terminal and new.wait_key is None and not self._is_listed(new.ref):
            yield "JournalFirst", f"{new.key} was inserted and no page names it"

    def _opened(self, old: Execution, new: Execution) -> Iterator[tuple[str, str]]:
        """What is redriven occupies its job from the same transaction on, or the next tick would run beside it."""
        head = self.state.heads[new.job_id]
        if new.generation != old.generation and head.overlap is Overlap.SKIP and head.active != new.occupant():
            yield "OverlapPolicy", f"{new.key} was redriven, and {head.active} has its job's place"

    def _moved_on(self, old: Order, new: Order) -> Iterator[tuple[str, str]]:
        """An order opens one at a time, each once, and nothing once it has ended."""
        if old.status is not OrderStatus.RUNNING:
            yield "TerminalIsFinal", f"order {new.order_id} went on from {old.status.value}"
        if new.redriven == old.redriven:
            return
        mine = (new.order_id, old.hand[0].ref)
        if new.redriven != old.redriven + 1 or mine in self._opened_by:
            yield "OrderOpensOnce", f"order {new.order_id} opened {old.hand[0].ref} as its {new.redriven}th"
        self._opened_by.add(mine)

    def _decided(self, old: Head, new: Head) -> Iterator[tuple[str, str]]:
        if new.fired_through == old.fired_through or new.last_ref is None:
            return
        if not self._is_listed(new.last_ref):
            yield "JournalFirst", f"{new.last_ref.key} was decided and no page names it"
        if old.last_ref is not None and not self._has(old.last_ref) and not _is_old(old, new):
            yield "LastExists", f"{new.last_ref.key} was decided while {old.last_ref.key} has no execution"

    def _has(self, ref: ExecutionRef) -> bool:
        return ref.key in self.state.executions.get(ref.job_id, {})

    def _occupied(self, old: Head, new: Head) -> Iterator[tuple[str, str]]:
        if new.active == old.active or old.active is None or new.overlap is not Overlap.SKIP:
            return
        before = self.state.executions.get(new.job_id, {}).get(key_of_occupant(old.active))
        if before is not None and not before.is_terminal and before.occupant() == old.active:
            yield "OverlapPolicy", f"{new.active} takes the place of {old.active}, which is {before.state.value}"

    def _dropped(self, entry: Entry) -> Iterator[tuple[str, str]]:
        row = self.state.executions.get(entry.job_id, {}).get(entry.key)
        if row is not None:
            open_still = (not row.is_terminal and row.wait_key is None) or bool(row.owed)
            if open_still and not self._is_listed(entry.ref):
                yield "ListedUntilDone", f"{entry.key} is {row.state.value} and no page names it any more"
            return
        head = self.state.heads.get(entry.job_id)
        if head is not None and head.last_ref == entry.ref and not self._is_listed(entry.ref):
            yield "ListedUntilDone", f"{entry.key} was decided, has no execution, and no page names it any more"


def _is_old(old: Head, new: Head) -> bool:
    return old.fired_through is None or new.fired_at is None or new.fired_at - old.fired_through > 1_800_000


def _execution_moved(old: Execution, new: Execution) -> Iterator[tuple[str, str]]:
    if new.lease_epoch < old.lease_epoch:
        yield "EpochMonotone", f"{new.key}: epoch {old.lease_epoch} -> {new.lease_epoch}"
    if new.attempt > new.max_attempts:
        yield "AttemptsBounded", f"{new.key}: attempt {new.attempt} of {new.max_attempts}"
    if new.owed and new.ttl is not None:
        yield "OwedIsKept", f"{new.key} may be forgotten and owes {sorted(one.value for one in new.owed)}"
    if old.state in TERMINAL and new.generation == old.generation:
        yield from _ended_moved(old, new)
    if new.noted != old.noted and new.state is not Life.SUCCEEDED and _holder_of(new) != _holder_of(old):
        yield "CheckpointKept", f"{new.key}: {old.noted} -> {new.noted} at epoch {new.lease_epoch}"
    yield from _claimed_or_won(old, new)


def _holder_of(row: Execution) -> tuple[Life, int]:
    return row.state, row.lease_epoch


def _ended_moved(old: Execution, new: Execution) -> Iterator[tuple[str, str]]:
    if old.discarded is not None and new.discarded != old.discarded:
        yield "TerminalIsFinal", f"{new.key} was discarded, and is {new.state.value} at {new.lease_epoch}"
    if new.state is not old.state or new.result != old.result:
        yield "TerminalIsFinal", f"{new.key}: {old.state.value} -> {new.state.value}"
    if not new.owed <= old.owed:
        yield "TerminalIsFinal", f"{new.key} owes more than before"


def _claimed_or_won(old: Execution, new: Execution) -> Iterator[tuple[str, str]]:
    claimed = new.state is Life.RUNNING and new.lease_epoch > old.lease_epoch
    if claimed and old.state in {Life.CANCELLING, *TERMINAL}:
        yield "TerminalIsFinal", f"{new.key} was claimed from {old.state.value}"
    ended_well = new.state is Life.SUCCEEDED and old.state is not Life.SUCCEEDED
    if ended_well and (old.state is not Life.RUNNING or new.lease_epoch != old.lease_epoch):
        yield "NoStaleResult", f"{new.key}: success from {old.state.value} at epoch {old.lease_epoch}"


def _head_moved(old: Head, new: Head) -> Iterator[tuple[str, str]]:
    if (new.fired_through or 0) < (old.fired_through or 0) or (new.passed_through or 0) < (old.passed_through or 0):
        yield "NextMonotone", f"decided through {old.fired_through} -> {new.fired_through}"
    if new.version < old.version:
        yield "VersionMonotone", f"version {old.version} -> {new.version}"
    if old.status is JobStatus.CANCELLED and new.status is not JobStatus.CANCELLED:
        yield "TerminalIsFinal", f"a cancelled job is {new.status.value}"
    if (
        new.fired_through != old.fired_through
        and new.last_ref is not None
        and new.last_ref.key != tick_key(new.fired_through or old.created_at)
    ):
        yield "OneExecutionPerTick", f"{new.last_ref.key} is not the key of {new.fired_through}"
