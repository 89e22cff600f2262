"""Copies in a Valkey (or a Redis) that all processes of an installation share.

Must not know what is copied. An ill cache costs a request a fifth of a second at most, and that once a second: then it
is left alone for a while. A name is a hash of tenant and path, and both stand in what is kept and are compared, so that
nobody's copy is taken for another's. Promise: SEM-STALE-2.
"""

import base64
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tickwright.domain import limits
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.ports.clock import Clock
from tickwright.ports.faults import CacheUnavailable
from tickwright.ports.status_cache import Copy, Place

AnswerT = TypeVar("AnswerT")
_VERSION: Final = 1
_LATEST: Final = from_rfc3339("9999-12-31T23:59:59Z")
_TIMEOUT_S: Final = 0.2  # same zone: an answer takes a millisecond
_RESTS_MS: Final = 1_000
_CONNECTIONS: Final = 32


class ValkeyStatusCache:
    """Copies under one prefix, which an installation has for itself."""

    def __init__(self, client: Redis, *, prefix: str, clock: Clock) -> None:
        """Use a client that gives up soon and does not try again by itself."""
        self._client = client
        self._prefix = prefix
        self._clock = clock
        self._rests_until_ms = 0

    @classmethod
    def at(cls, url: str, *, prefix: str, clock: Clock) -> "ValkeyStatusCache":
        """At `valkeys://host:port` or `rediss://...` (TLS, as ElastiCache Serverless wants it), or without the s."""
        scheme, _, place = url.partition("://")
        client = Redis.from_url(
            f"{scheme.replace('valkey', 'redis')}://{place}",
            socket_connect_timeout=_TIMEOUT_S,
            socket_timeout=_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            max_connections=_CONNECTIONS,
            decode_responses=False,
        )
        return cls(client, prefix=prefix, clock=clock)

    async def put(self, place: Place, copy: Copy) -> None:
        """One SET with its time to live."""
        name = self._name(place)
        if len(copy.body) > limits.COPY_BYTES_MAX:
            await self._ask(lambda: self._client.delete(name))
            return
        kept = _to_text(place, copy)
        await self._ask(lambda: self._client.set(name, kept, ex=limits.COPY_S_MAX))

    async def get(self, place: Place) -> Copy | None:
        """One GET."""
        kept = await self._ask(lambda: self._client.get(self._name(place)))
        return None if kept is None else _from_text(place, kept)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    def _name(self, place: Place) -> str:
        of = json.dumps([place.tenant_id, place.path]).encode()
        return f"{self._prefix}:copy:{hashlib.sha256(of).hexdigest()}"

    async def _ask(self, call: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        if self._clock.monotonic_ms() < self._rests_until_ms:
            raise CacheUnavailable("it did not answer a moment ago")
        try:
            return await call()
        except (RedisError, OSError, TimeoutError) as fault:
            self._rests_until_ms = self._clock.monotonic_ms() + _RESTS_MS
            raise CacheUnavailable(f"{type(fault).__name__}: {fault}") from fault


def _to_text(place: Place, copy: Copy) -> bytes:
    members = {
        "v": _VERSION,
        "tenantId": place.tenant_id,
        "path": place.path,
        "asOf": copy.as_of,
        "body": base64.b64encode(copy.body).decode(),
    }
    return json.dumps(members, separators=(",", ":")).encode()


def _from_text(place: Place, kept: str | bytes) -> Copy | None:
    """The copy, where it is of this place and this version can read it."""
    try:
        members = json.loads(kept)
        of = (members["v"], members["tenantId"], members["path"])
        as_of, body = members["asOf"], base64.b64decode(members["body"], validate=True)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if type(as_of) is not int or not 0 <= as_of <= _LATEST:  # JSON has Infinity, and true is a number
        return None
    copy = Copy(body=body, as_of=Instant(as_of))
    return copy if of == (_VERSION, place.tenant_id, place.path) else None
