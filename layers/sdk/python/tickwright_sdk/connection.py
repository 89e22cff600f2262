"""How a request reaches the API: kept connections, written-out timeouts, repeats only where a repeat is safe.

Must not know what is asked. The key goes to this one origin alone (no redirect is followed) and into no message, no
`repr` and no log. A pending request can be cut from another thread, which a pool's own `close` cannot do.
Promise: SEM-SDK-10.
"""

import ipaddress
import json
import re
import socket
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import SplitResult, urlencode, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from tickwright_sdk.machine import fraction
from tickwright_sdk.problems import NoApi, Refused, TickwrightError, Unavailable, Unreachable, refused

_KEY = re.compile(r"[\x21-\x7E]{1,256}")
_ANSWER_BYTES_MAX = 32 * 1_048_576  # a list's longest page is far below
_RETRY_AFTER_S_MAX = 30.0  # a client that waits longer looks dead: it is told instead
_OK, _REDIRECTS = 200, 300
_SAID_CHARS_MAX = 200
_SHOWN_BYTES = 60  # of what is no answer: enough to know a login page by
# Answers that say "later": the request was not carried out.
_LATER = frozenset({"idempotency_in_progress", "unfinished", "unavailable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a request may take, and how often it is sent."""

    connect_s: float = 3.0
    read_s: float = 30.0
    tries: int = 4
    pause_s: float = 0.2  # before the second; twice as long before each further, with full jitter
    pause_s_max: float = 5.0

    def pause(self, attempt: int, fraction: float) -> float:
        """How long to wait before the next; `attempt` counts from 1."""
        longest: float = min(self.pause_s_max, self.pause_s * 2 ** (attempt - 1))
        return longest * fraction


STANDARD = Patience()
Wait = Callable[[float], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request. `may_repeat`: sent twice, it does what it does once."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    may_repeat: bool = False
    read_s: float | None = None


class BadKey(ValueError):  # noqa: N818 - says what is the matter
    """What was given is no API key."""


class Connection:
    """An origin and a key. Safe to use from many threads; `connections` of them are open at most."""

    def __init__(
        self, url: str, key: str, *, patience: Patience = STANDARD, wait: Wait | None = None, connections: int = 8
    ) -> None:
        """Look at the address and the key; nothing is sent yet. A key does not go over an open network in the clear.

        `wait` holds up the calling thread for so many seconds.
        """
        self._origin = _origin(url)
        if not _is_key(key):
            raise BadKey("An API key is 1 to 256 printable ASCII characters without blanks.")
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json", "User-Agent": "tickwright-sdk"}
        self._patience = patience
        self._wait: Wait = _hold_up if wait is None else wait
        self._live = _Live()
        self._pools = _pools(self._live, connections)

    @property
    def origin(self) -> str:
        """Where it asks."""
        return self._origin

    def __repr__(self) -> str:
        """Without the key."""
        return f"Connection({self._origin!r})"

    def another(self, connections: int, patience: Patience | None = None) -> "Connection":
        """The same origin and key over connections of its own; with another patience, if asked."""
        key = self._headers["Authorization"].removeprefix("Bearer ")
        patience = patience or self._patience
        return Connection(self._origin, key, patience=patience, wait=self._wait, connections=connections)

    def ask(self, asked: Ask) -> Any:  # noqa: ANN401 - JSON
        """The answer's JSON. Raises a Refused, or Unreachable; a request that may be repeated is, for a while."""
        tries = self._patience.tries if asked.may_repeat else 1
        for attempt in range(1, tries):
            try:
                return self._once(asked)
            except TickwrightError as fault:
                pause_s = self._pause_s(fault, attempt)
                if pause_s is None:
                    raise
                self._wait(pause_s)
        return self._once(asked)

    def _pause_s(self, fault: TickwrightError, attempt: int) -> float | None:
        """How long to wait before a repeat; None where one is of no use."""
        pause_s = self._patience.pause(attempt, fraction())
        if not isinstance(fault, Refused):
            return pause_s
        if not isinstance(fault, Unavailable) and fault.code not in _LATER:
            return None
        asked_s = fault.retry_after_s or 0.0
        return max(pause_s, asked_s) if asked_s <= _RETRY_AFTER_S_MAX else None

    def _once(self, asked: Ask) -> Any:  # noqa: ANN401 - JSON
        read_s = self._patience.read_s if asked.read_s is None else asked.read_s
        body = None if asked.body is None else _as_json(asked.body)
        headers = self._headers | dict(asked.headers) | ({} if body is None else {"Content-Type": "application/json"})
        try:
            response = self._pools.request(
                asked.method,
                self._origin + asked.path + _query(asked.query),
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(connect=self._patience.connect_s, read=read_s),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            text = response.read(_ANSWER_BYTES_MAX + 1)
        except (urllib3.exceptions.HTTPError, OSError) as fault:
            said = f"{type(fault).__name__}: {str(fault)[:_SAID_CHARS_MAX]}"
            raise Unreachable(f"{asked.method} {asked.path}: {said}") from fault
        if len(text) > _ANSWER_BYTES_MAX:
            response.close()
            raise Unreachable(f"{asked.method} {asked.path}: an answer of over {_ANSWER_BYTES_MAX} bytes")
        response.release_conn()
        return _read(response.status, response.headers, text)

    def cut(self) -> None:
        """End what is pending: each such call raises Unreachable within a moment, whatever it waits for."""
        self._live.cut()

    def close(self) -> None:
        """Close the connections that are at rest."""
        self._pools.clear()

    def __enter__(self) -> Self:
        """Closes at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class _Live:
    """The connections that are open: whoever waits on one can be woken through its socket alone."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: weakref.WeakSet[HTTPConnection] = weakref.WeakSet()

    def add(self, connection: HTTPConnection) -> None:
        with self._guard:
            self._open.add(connection)

    def cut(self) -> None:
        with self._guard:
            sockets = [one.sock for one in self._open]
        for one in sockets:
            if one is not None:
                # Plain and TLS alike: the reader sees the end of the stream. `close` would leave it waiting.
                with suppress(OSError):
                    socket.socket.shutdown(one, socket.SHUT_RDWR)


def _pools(live: _Live, connections: int) -> urllib3.PoolManager:
    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            live.add(self)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            live.add(self)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    pools = urllib3.PoolManager(num_pools=1, maxsize=connections, block=True)
    pools.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return pools


def _is_key(given: object) -> bool:
    """Where an environment lacks it, None comes here."""
    return isinstance(given, str) and _KEY.fullmatch(given) is not None


def _origin(url: str) -> str:
    if not isinstance(url, str):
        raise TypeError(f"The address of the API is a text that looks like https://host, not {url!r}.")
    parts = urlsplit(url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError(
            f"The address of the API looks like https://host or https://host:port/stage, not {_shown(parts)}."
        )
    if parts.scheme == "http" and not _is_this_machine(parts.hostname):
        raise ValueError("The key would cross the network in the clear: use https.")
    with suppress(ValueError):
        if parts.port != 0:
            return url.strip().rstrip("/")
    raise ValueError(f"The port of the API's address is 1 to 65535, which that of {_shown(parts)} is not.")


def _shown(parts: SplitResult) -> str:
    """An address as it was given, without what may be secret: a user with a password, a query, a key in its place."""
    host = parts.netloc.rpartition("@")[2]
    # Without a scheme, or with a user's name taken for one, the user stands in the path.
    text = parts._replace(netloc=host, path=parts.path.rpartition("@")[2], query="", fragment="").geturl()
    is_word = not any(mark in text for mark in ".:/")
    return "a word without any of . : /" if is_word else repr(text[:_SAID_CHARS_MAX])


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _hold_up(seconds: float) -> None:
    threading.Event().wait(seconds)


def _query(given: Mapping[str, str]) -> str:
    return "?" + urlencode(given) if given else ""


def _as_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _read(status: int, headers: Mapping[str, str], text: bytes) -> Any:  # noqa: ANN401 - JSON
    if not _OK <= status < _REDIRECTS:
        raise refused(status, text, retry_after_s=_seconds(headers.get("Retry-After")))
    try:
        return json.loads(text) if text else None
    except ValueError:
        raise NoApi(f"an answer of {status} that is no JSON: {text[:_SHOWN_BYTES]!r}") from None


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdecimal() else None
