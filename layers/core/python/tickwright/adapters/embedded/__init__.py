"""Store and queue in one SQLite file."""
