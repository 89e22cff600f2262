"""What the file looks like: its tables, its indexes, and the version that a newer program may raise.

Each table keeps an item whole as JSON in `doc`; the columns beside it are those that a key or an index needs, so the
item stays the only truth. Sparse indexes are partial ones. Must not know what an item means. Promise: SEM-STORE-7.
"""

import sqlite3

from tickwright.adapters.embedded.faults import SchemaTooNew, StoreUnusable

SCHEMA_VERSION = 1
# "Tick" in ASCII: SQLite keeps it in the header, so a file of another program is told from ours.
APPLICATION_ID = 0x5469636B

TABLES = (
    """
    CREATE TABLE heads (
        job_id TEXT NOT NULL,
        tenant_id TEXT NOT NULL,
        listed_as TEXT NOT NULL,
        bucket INTEGER,
        lane TEXT NOT NULL,
        next_run_at INTEGER,
        doc TEXT NOT NULL,
        PRIMARY KEY (job_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX heads_due ON heads (bucket, lane, next_run_at) WHERE next_run_at IS NOT NULL",
    "CREATE INDEX heads_listed ON heads (tenant_id, listed_as, job_id)",
    """
    CREATE TABLE definitions (
        job_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        doc TEXT NOT NULL,
        PRIMARY KEY (job_id, version)
    )
    """,
    """
    CREATE TABLE executions (
        job_id TEXT NOT NULL,
        key TEXT NOT NULL,
        tenant_id TEXT NOT NULL,
        wait_key TEXT,
        wait_at INTEGER,
        failed_at INTEGER,
        expires_at INTEGER,
        doc TEXT NOT NULL,
        PRIMARY KEY (job_id, key)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX executions_waiting ON executions (wait_key, wait_at) WHERE wait_key IS NOT NULL",
    "CREATE INDEX executions_attention ON executions (tenant_id, failed_at, job_id, key) WHERE failed_at IS NOT NULL",
    "CREATE INDEX executions_expiring ON executions (expires_at) WHERE expires_at IS NOT NULL",
    """
    CREATE TABLE journal (
        bucket INTEGER NOT NULL,
        check_at INTEGER NOT NULL,
        writer TEXT NOT NULL,
        doc TEXT NOT NULL,
        PRIMARY KEY (bucket, check_at, writer)
    )
    """,
    """
    CREATE TABLE control (
        pk TEXT NOT NULL,
        sk TEXT NOT NULL,
        expires_at INTEGER,
        doc TEXT NOT NULL,
        PRIMARY KEY (pk, sk)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX control_expiring ON control (expires_at) WHERE expires_at IS NOT NULL",
    # AUTOINCREMENT: an id is never used again, so an old receipt cannot delete a younger message.
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        lane TEXT NOT NULL,
        visible_at INTEGER NOT NULL,
        receive_count INTEGER NOT NULL DEFAULT 0,
        body TEXT NOT NULL
    )
    """,
    "CREATE INDEX messages_visible ON messages (lane, visible_at, id)",
    """
    CREATE TABLE set_aside (
        id INTEGER PRIMARY KEY,
        lane TEXT NOT NULL,
        reason TEXT NOT NULL,
        set_aside_at INTEGER NOT NULL,
        body TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE dead_letters (
        id INTEGER PRIMARY KEY,
        sent_at INTEGER NOT NULL,
        body TEXT NOT NULL
    )
    """,
)


def ready(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, or see that those of an old one are ours; in the transaction of the caller."""
    found = version_of(connection)
    if found > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"its schema version is {found}, and this program knows up to {SCHEMA_VERSION}: update the program"
        )
    if found == SCHEMA_VERSION:
        return
    if _holds_tables(connection):
        raise StoreUnusable("it is a database of another program: choose another path")
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def version_of(connection: sqlite3.Connection) -> int:
    """The version that the file has: 0 where it is new, or not ours."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version) if application_id == APPLICATION_ID else 0


def _holds_tables(connection: sqlite3.Connection) -> bool:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(count)
