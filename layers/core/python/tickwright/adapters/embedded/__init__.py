"""Store and queue in one SQLite file."""

from tickwright.adapters.embedded.database import Database, Synchronous
from tickwright.adapters.embedded.faults import SchemaTooNew, StoreUnusable
from tickwright.adapters.embedded.queue import EmbeddedQueue
from tickwright.adapters.embedded.store import EmbeddedStore

__all__ = ["Database", "EmbeddedQueue", "EmbeddedStore", "SchemaTooNew", "StoreUnusable", "Synchronous"]
