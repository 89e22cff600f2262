"""How a tenant's pool is written: where there is none yet, or over the version that was seen.

Must not know a store, nor who may write. Promise: SEM-POOL-1.
"""

from dataclasses import dataclass

from tickwright.domain.pools import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPool:
    """A pool as it is to stand; its version is one more than what was seen, and 1 where nothing was."""

    pool: Pool

    @property
    def seen_version(self) -> int | None:
        """What must stand there."""
        return None if self.pool.version == 1 else self.pool.version - 1

    def decide(self, old: Pool | None) -> Pool | None:
        """As it was seen."""
        return self.pool if self.seen_version == (None if old is None else old.version) else None

    def mine(self, old: Pool) -> bool:
        """Whoever has written the very same has written this."""
        return old == self.pool
