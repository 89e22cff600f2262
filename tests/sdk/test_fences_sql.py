"""The fence in SQL, on SQLite: the guard row, the upsert, the update, and what of each a zombie meets."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tickwright_sdk.fences import Fence, FenceRefused, fence_of, job_fence_of
from tickwright_sdk.fences.sql import CREATE_GUARDS, FencedWrites, NoSuchRow

_BILL = "CREATE TABLE bill (id TEXT PRIMARY KEY, cents INTEGER, fence BIGINT NOT NULL)"
_LEDGER = "CREATE TABLE ledger (id INTEGER PRIMARY KEY, cents INTEGER)"


class Ctx:
    """What a fence is made from."""

    def __init__(self, epoch: int, hour: int = 0, run: str = "e1") -> None:
        """One attempt of one execution."""
        self.execution_id, self.job_id, self.lease_epoch = run, "j1", epoch
        self.scheduled_time = datetime(2026, 12, 1, hour, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with the tables."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.executescript(f"PRAGMA journal_mode = WAL; {CREATE_GUARDS}; {_BILL}; {_LEDGER}")
    return tmp_path / "a.db"


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection to it."""
    with closing(sqlite3.connect(file)) as one:
        yield one


def _writes(connection: sqlite3.Connection, epoch: int) -> FencedWrites:
    return FencedWrites(connection.cursor(), Fence(owner="e1", number=epoch))


def _pay(connection: sqlite3.Connection, epoch: int) -> None:
    with connection:
        _writes(connection, epoch).guard()
        connection.execute("INSERT INTO ledger (cents) VALUES (?)", (epoch,))


def _ledger(connection: sqlite3.Connection) -> list[int]:
    return [cents for (cents,) in connection.execute("SELECT cents FROM ledger ORDER BY id")]


@pytest.mark.sem("SEM-SDK-12")
def test_a_guard_refuses_every_epoch_below_the_highest_it_has_seen(connection: sqlite3.Connection) -> None:
    """Whatever else the zombie's transaction would write is rolled back with it."""
    _pay(connection, 5)
    with pytest.raises(FenceRefused) as raised:
        _pay(connection, 4)
    _pay(connection, 5)
    _pay(connection, 10)
    with pytest.raises(FenceRefused):
        _pay(connection, 9)

    assert _ledger(connection) == [5, 5, 10]
    assert (raised.value.seen, raised.value.fence.number) == (5, 4)
    assert str(raised.value) == "tickwright_fences has seen fence 5 of e1; 4 was refused."


def test_each_owner_has_a_guard_of_its_own(connection: sqlite3.Connection) -> None:
    """The epochs of two executions have nothing to do with each other."""
    _pay(connection, 7)
    with connection:
        FencedWrites(connection.cursor(), Fence(owner="e2", number=1)).guard()

    assert list(connection.execute("SELECT * FROM tickwright_fences ORDER BY owner")) == [("e1", 7), ("e2", 1)]


def test_a_zombie_that_comes_while_the_guard_is_held_waits_and_is_refused(
    file: Path, connection: sqlite3.Connection
) -> None:
    """Between the guard and the commit of the later attempt nothing of an earlier one gets in."""
    ended: list[object] = []

    def zombie() -> None:
        with closing(sqlite3.connect(file, timeout=20)) as own:
            try:
                _pay(own, 1)
                ended.append("wrote")
            except FenceRefused as refused:
                ended.append(refused.seen)

    running = threading.Thread(target=zombie)
    with connection:
        _writes(connection, 2).guard()
        running.start()
        running.join(0.3)  # it cannot end before the commit; how long it is given changes nothing
        connection.execute("INSERT INTO ledger (cents) VALUES (2)")
    running.join(20)

    assert ended == [2]
    assert _ledger(connection) == [2]


@pytest.mark.sem("SEM-SDK-12")
def test_an_upsert_is_refused_once_a_later_attempt_has_written_the_row(connection: sqlite3.Connection) -> None:
    """New, equal and higher epochs write; a lower one does not."""
    seen: list[object] = []
    for epoch in (5, 5, 4, 6, 5):
        try:
            with connection:
                _writes(connection, epoch).upsert("bill", {"id": "a", "cents": epoch * 10}, key=("id",))
            seen.append(epoch)
        except FenceRefused as refused:
            seen.append(f"refused by {refused.seen}")

    assert seen == [5, 5, "refused by 5", 6, "refused by 6"]
    assert list(connection.execute("SELECT * FROM bill")) == [("a", 60, 6)]


@pytest.mark.sem("SEM-SDK-12")
def test_an_update_tells_a_zombie_from_a_row_that_is_not_there(connection: sqlite3.Connection) -> None:
    """Both write no row: the one must stop, the other has a mistake to find."""
    _writes(connection, 5).upsert("bill", {"id": "a", "cents": 1}, key=("id",))

    _writes(connection, 6).update("bill", {"cents": 2}, key={"id": "a"})
    with pytest.raises(FenceRefused):
        _writes(connection, 5).update("bill", {"cents": 3}, key={"id": "a"})
    with pytest.raises(NoSuchRow):
        _writes(connection, 9).update("bill", {"cents": 3}, key={"id": "nobody"})

    assert list(connection.execute("SELECT * FROM bill")) == [("a", 2, 6)]


@pytest.mark.parametrize("name", ["bill; DROP TABLE bill", "b ill", '"bill"', "", "1bill", "a.b.c"])
def test_a_name_is_nothing_but_a_name(connection: sqlite3.Connection, name: str) -> None:
    """Names stand in the statement as they are."""
    with pytest.raises(ValueError, match="plain name"):
        _writes(connection, 1).upsert(name, {"id": "a"}, key=("id",))
    with pytest.raises(ValueError, match="plain name"):
        _writes(connection, 1).update("bill", {name: 1}, key={"id": "a"})


def test_the_fence_of_an_execution_is_its_epoch() -> None:
    """The number that the API names too."""
    assert fence_of(Ctx(3)) == Fence(owner="e1", number=3)


def test_the_fence_of_a_job_puts_the_tick_before_the_epoch() -> None:
    """The first attempt of a later tick is later than the third of an earlier one; within a tick the epoch decides."""
    earlier, later = job_fence_of(Ctx(3, hour=1)), job_fence_of(Ctx(1, hour=2, run="e2"))
    retried = job_fence_of(Ctx(2, hour=2, run="e2"))

    assert earlier.owner == later.owner == "j1"
    assert earlier.number < later.number < retried.number
    assert retried.number < 2**63


@pytest.mark.parametrize("number", [0, -1, 2**63])
def test_a_fence_fits_where_it_is_kept(number: int) -> None:
    """No store of SQL holds more than 63 bits."""
    with pytest.raises(AssertionError):
        Fence(owner="e", number=number)
