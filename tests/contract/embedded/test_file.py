"""Is a file that cannot be a store refused in one line, by name, before anything is changed?"""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract.store.cases_of_jobs import HEAD, bring
from tests.support.builders import JOB
from tickwright.adapters.embedded import Database, EmbeddedStore, SchemaTooNew, StoreUnusable
from tickwright.adapters.embedded.schema import SCHEMA_VERSION

PAGE_BYTES = 4_096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in a folder that does not exist yet."""
    return tmp_path / "data" / "tickwright.db"


async def a_file_with_a_head(path: Path) -> None:
    database = Database.open(path)
    await bring(EmbeddedStore(database), HEAD)
    await database.close()


def content(path: Path) -> bytes:
    return path.read_bytes()


def damage(path: Path) -> None:
    """Overwrite all pages but the first."""
    healthy = path.read_bytes()
    path.write_bytes(healthy[:PAGE_BYTES] + b"\xff" * (len(healthy) - PAGE_BYTES))


@pytest.mark.sem("SEM-STORE-7")
async def test_a_file_keeps_what_was_written_when_it_is_opened_again(path: Path) -> None:
    """The folder is made, too."""
    await a_file_with_a_head(path)

    database = Database.open(path)

    assert await EmbeddedStore(database).head(JOB) == HEAD
    await database.close()


@pytest.mark.sem("SEM-STORE-7")
async def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    """By a name of its own, with both versions."""
    await a_file_with_a_head(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = content(path)

    with pytest.raises(SchemaTooNew, match=f"{SCHEMA_VERSION + 1}.* {SCHEMA_VERSION}.*update the program") as refused:
        Database.open(path)

    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
    assert content(path) == before


@pytest.mark.sem("SEM-STORE-7")
def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    """It is SQLite, but not ours."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")

    with pytest.raises(StoreUnusable, match="another program"):
        Database.open(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


@pytest.mark.sem("SEM-STORE-7")
def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    """A text file that somebody put there stays as it is."""
    path.parent.mkdir()
    path.write_text("remember the milk\n" * 1_000)

    with pytest.raises(StoreUnusable, match="not a database"):
        Database.open(path)

    assert path.read_text().startswith("remember the milk")


@pytest.mark.sem("SEM-STORE-7")
async def test_a_damaged_file_is_never_an_empty_answer(path: Path) -> None:
    """Its pages behind the first are overwritten: opening or reading says so, and nothing is read as absent."""
    await a_file_with_a_head(path)
    damage(path)

    with pytest.raises(StoreUnusable, match="malformed"):
        await _head_of(path)


async def _head_of(path: Path) -> object:
    database = Database.open(path)
    try:
        return await EmbeddedStore(database).head(JOB)
    finally:
        await database.close()


@pytest.mark.sem("SEM-STORE-7")
@pytest.mark.parametrize("inside", ["a-file/tickwright.db", "a-folder"])
def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path: Path, inside: str) -> None:
    """A folder that is a file, and a file that is a folder."""
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-folder").mkdir()

    with pytest.raises(StoreUnusable, match=str(tmp_path / inside)) as refused:
        Database.open(tmp_path / inside)

    assert "\n" not in str(refused.value)


@pytest.mark.sem("SEM-STORE-7")
async def test_many_who_open_a_new_file_at_once_all_succeed(path: Path) -> None:
    """Eight threads: one makes the tables, the others wait for it."""
    with ThreadPoolExecutor(8) as threads:
        databases = list(threads.map(lambda _: Database.open(path), range(8)))

    await bring(EmbeddedStore(databases[0]), HEAD)

    assert [await EmbeddedStore(database).head(JOB) for database in databases] == [HEAD] * 8
    for database in databases:
        await database.close()
