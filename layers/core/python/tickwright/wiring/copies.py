"""Where an installation keeps copies of what it has shown: on AWS as its environment says.

The client of Valkey is loaded only where one is named: it would add to every cold start.
"""

from collections.abc import Mapping

from tickwright.adapters.cache.memory import MemoryStatusCache
from tickwright.ports.status_cache import StatusCache
from tickwright.services.kit import Kit


def copies_in_memory(kit: Kit) -> StatusCache:
    """In this process."""
    return MemoryStatusCache(kit.clock)


def copies_from_env(environ: Mapping[str, str], kit: Kit) -> StatusCache:
    """In this process; or, where the environment names one, in a Valkey that all processes share."""
    if not (url := environ.get("TICKWRIGHT_STATUS_CACHE")):
        return copies_in_memory(kit)
    from tickwright.adapters.cache.valkey import ValkeyStatusCache  # noqa: PLC0415 - see the module's docstring

    return ValkeyStatusCache.at(url, prefix=f"tickwright:{environ['TICKWRIGHT_STAGE']}", clock=kit.clock)
