"""The fence in SQL on a real PostgreSQL: what a zombie meets, also between a guard and its commit."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.sdk.postgres import a_postgres, connected, programs
from tickwright_sdk.fences import Fence, FenceRefused
from tickwright_sdk.fences.sql import CREATE_GUARDS, FencedWrites, NoSuchRow

pytestmark = [
    pytest.mark.sem("SEM-SDK-12"),
    pytest.mark.skipif(programs() is None, reason="there is no wheel with a PostgreSQL for this machine"),
]
_TABLES = """
    CREATE TABLE bill (id TEXT PRIMARY KEY, cents INTEGER, fence BIGINT NOT NULL);
    CREATE TABLE ledger (id SERIAL PRIMARY KEY, cents INTEGER)
"""
SECONDS = 30
Connect = Callable[[], Any]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """One server for all."""
    with a_postgres() as socket:
        yield socket


@pytest.fixture
def connect(server: str) -> Iterator[Connect]:
    """Connections to a database with the tables."""
    opened = [connected(server)]
    cursor = opened[0].cursor()
    for statement in (CREATE_GUARDS, *_TABLES.split(";")):
        cursor.execute(statement)
    opened[0].commit()

    def another() -> Any:  # noqa: ANN401 - the driver has no types
        opened.append(connected(server))
        return opened[-1]

    yield another
    for one in opened:
        one.rollback()
    cursor.execute("DROP TABLE bill, ledger, tickwright_fences")
    opened[0].commit()
    for one in opened:
        one.close()


def writes(connection: Any, epoch: int) -> FencedWrites:  # noqa: ANN401 - as above
    """Those of an attempt."""
    return FencedWrites(connection.cursor(), Fence(owner="e1", number=epoch), mark="%s")


def pay(connection: Any, epoch: int) -> None:  # noqa: ANN401 - as above
    """Behind the guard, and all of it rolled back where that refuses."""
    try:
        writes(connection, epoch).guard()
        connection.cursor().execute("INSERT INTO ledger (cents) VALUES (%s)", (epoch,))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def rows(connection: Any, statement: str) -> list[list[Any]]:  # noqa: ANN401 - as above
    """What there is."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        found: list[list[Any]] = [list(row) for row in cursor.fetchall()]
        connection.commit()
    return found


def test_a_guard_refuses_every_epoch_below_the_highest_it_has_seen(connect: Connect) -> None:
    """With all that the zombie's transaction would write."""
    connection, ended = connect(), []
    for epoch in (5, 4, 5, 10, 9):
        try:
            pay(connection, epoch)
        except FenceRefused as refused:
            ended.append((epoch, refused.seen))

    assert ended == [(4, 5), (9, 10)]
    assert rows(connection, "SELECT cents FROM ledger ORDER BY id") == [[5], [5], [10]]


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_zombie_that_comes_while_the_guard_is_held_waits_and_writes_nothing(connect: Connect, level: str) -> None:
    """Refused by the fence, or by the database itself where its transactions may not see what was written meanwhile."""
    later, zombie, watching = connect(), connect(), connect()
    ended: list[BaseException | None] = []
    zombie.cursor().execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
    zombie.commit()
    pay(zombie, 1)

    def goes_on() -> None:
        try:
            pay(zombie, 1)
            ended.append(None)
        except BaseException as raised:  # noqa: BLE001 - it is judged below
            ended.append(raised)

    writes(later, 2).guard()
    later.cursor().execute("INSERT INTO ledger (cents) VALUES (2)")
    running = threading.Thread(target=goes_on)
    running.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while rows(watching, waiting) == [[0]]:
        assert running.is_alive(), "it has not waited for the guard"
    later.commit()
    running.join(SECONDS)

    [refused] = ended
    seen = refused.seen if isinstance(refused, FenceRefused) else "could not serialize" in str(refused)
    assert seen == (2 if level == "READ COMMITTED" else True)
    with pytest.raises(FenceRefused):  # whatever refused it: tried again, it is the fence
        pay(zombie, 1)
    assert rows(watching, "SELECT cents FROM ledger ORDER BY id") == [[1], [2]]


def test_a_later_attempt_waits_for_an_earlier_one_that_is_about_to_commit(connect: Connect) -> None:
    """What was guarded before it came is not undone: it comes after it."""
    earlier, later, watching = connect(), connect(), connect()
    writes(earlier, 1).guard()
    running = threading.Thread(target=pay, args=(later, 2))
    running.start()
    while rows(watching, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == [[0]]:
        assert running.is_alive(), "it has not waited for the guard"
    earlier.cursor().execute("INSERT INTO ledger (cents) VALUES (1)")
    earlier.commit()
    running.join(SECONDS)

    assert rows(watching, "SELECT cents FROM ledger ORDER BY id") == [[1], [2]]


@pytest.mark.parametrize("table", ["bill", "public.bill"])
def test_a_row_with_its_own_fence_takes_no_earlier_attempt(connect: Connect, table: str) -> None:
    """New, equal and higher epochs write, by upsert and by update; a lower one does not."""
    connection, seen = connect(), list[object]()
    for epoch in (5, 5, 4, 6, 5):
        try:
            writes(connection, epoch).upsert(table, {"id": "a", "cents": epoch * 10}, key=("id",))
            writes(connection, epoch).update(table, {"cents": epoch * 10 + 1}, key={"id": "a"})
            seen.append(epoch)
        except FenceRefused as refused:
            seen.append(f"refused by {refused.seen}")
        connection.commit()

    assert seen == [5, 5, "refused by 5", 6, "refused by 6"]
    assert rows(connection, "SELECT * FROM bill") == [["a", 61, 6]]


def test_an_update_tells_a_zombie_from_a_row_that_is_not_there(connect: Connect) -> None:
    """Both write no row: the one must stop, the other has a mistake to find."""
    connection = connect()
    writes(connection, 5).upsert("bill", {"id": "a", "cents": 1}, key=("id",))

    with pytest.raises(FenceRefused):
        writes(connection, 4).update("bill", {"cents": 3}, key={"id": "a"})
    with pytest.raises(NoSuchRow):
        writes(connection, 9).update("bill", {"cents": 3}, key={"id": "nobody"})
    connection.commit()

    assert rows(connection, "SELECT * FROM bill") == [["a", 1, 5]]
