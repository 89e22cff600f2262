"""How rows leave when their time to live is over, as DynamoDB's TTL takes them: late, never early, never one without.

Must not know why a row expires. Promise: SEM-STORE-8.
"""

import sqlite3

from tickwright.domain.instants import Instant

# A bound for how long one sweep holds the file.
SWEPT_MAX = 500

_EXECUTIONS = """
    DELETE FROM executions WHERE (job_id, key) IN (
        SELECT job_id, key FROM executions WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?
    )
"""
_CONTROL = """
    DELETE FROM control WHERE (pk, sk) IN (
        SELECT pk, sk FROM control WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?
    )
"""


def sweep(connection: sqlite3.Connection, now: Instant) -> int:
    """Remove what has expired, a bounded number of each kind; says how many."""
    return sum(connection.execute(statement, (now, SWEPT_MAX)).rowcount for statement in (_EXECUTIONS, _CONTROL))
