"""Runs an attempt as one HTTP POST, by urllib3 in threads, and reads from the answer how it ended.

Must not know leases. 2xx is success; 408, 425, 429 and 5xx are failures that are tried again, a Retry-After heeded;
other 4xx and redirects are fatal. One connection an attempt, no proxy, bounded in time and bytes. Promises:
SEM-TARGET-1, SEM-TARGET-2.
"""

import asyncio
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout, Url, parse_url

from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.targets.doors import AddressRefused, Door
from tickwright.adapters.targets.envelope import body_of, headers_of
from tickwright.adapters.targets.http_answers import Answer, result_from
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, UserResult, an_error
from tickwright.domain.executions import Reason
from tickwright.ports.clock import Clock
from tickwright.ports.runner import Invocation

# A host that does not answer the first packet within this will not; the rest of the attempt is for its work.
CONNECT_S_MAX = 10.0
# More than any result that is kept, enough of an error page to see what it is.
ANSWER_BYTES_MAX = limits.RESULT_BYTES_MAX
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Post:
    url: Url
    headers: Mapping[str, str]
    body: bytes
    left_s: float


class HttpRunner:
    """The target kind `http`."""

    def __init__(self, *, allow_private: bool, clock: Clock | None = None, threads: int = 64) -> None:
        """One thread for each attempt at a time; `allow_private` only on one machine and in tests."""
        self._clock = clock or SystemClock()
        self._allow_private = allow_private
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="http-target")

    async def run(self, invocation: Invocation) -> UserResult:
        """POST once; when time is up or the run is to stop, the connection is closed, whatever it is doing."""
        settings = invocation.definition.spec.target.settings
        left_s = (invocation.deadline_at - self._clock.now()) / 1_000
        if left_s <= 0:
            return _timed_out()
        url = _url(str(settings["url"]))
        if isinstance(url, Fatal):
            return url
        post = _Post(url=url, headers=headers_of(invocation), body=body_of(invocation), left_s=left_s)
        door = Door(allow_private=self._allow_private)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(left_s):
                return await loop.run_in_executor(self._threads, _result, door, post, self._clock.now())
        except TimeoutError:
            return _timed_out()
        finally:
            door.shut()

    def close(self) -> None:
        """Let the threads go; those that run end by their own time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _url(text: str) -> Url | Fatal:
    try:
        url = parse_url(text)
    except HTTPError as fault:
        return Fatal(error=an_error("HttpUrl", f"The URL cannot be used: {fault}"))
    if url.scheme not in _PORTS or not url.host:
        return Fatal(error=an_error("HttpUrl", "The URL is not http or https; edit the job."))
    return url


def _timed_out() -> Failure:
    error = an_error("TimedOut", "The target did not answer within the attempt's time limit.")
    return Failure(error=error, reason=Reason.TIMED_OUT)


def _result(door: Door, post: _Post, now: int) -> UserResult:
    """In a thread: what became of the POST."""
    try:
        return result_from(_answer(door, post), now)
    except AddressRefused as refused:
        return Fatal(error=an_error("HttpAddressRefused", f"{refused}; only public addresses are reached."))
    except (HTTPError, OSError) as fault:
        return Failure(error=an_error("HttpUnreachable", f"{type(fault).__name__}: {fault}"))


def _answer(door: Door, post: _Post) -> Answer:
    with _pool(door, post.url) as pool:
        response = pool.urlopen(
            "POST",
            post.url.request_uri,
            body=post.body,
            headers=post.headers,
            retries=False,
            redirect=False,
            timeout=Timeout(connect=min(CONNECT_S_MAX, post.left_s), read=post.left_s),
            preload_content=False,
            decode_content=False,
        )
        try:
            body = response.read(ANSWER_BYTES_MAX + 1)
            return Answer(
                status=response.status, reason=response.reason or "", headers=dict(response.headers), body=body
            )
        finally:
            response.close()


class _PlainConnection(HTTPConnection):
    def __init__(self, *arguments: Any, door: Door, **named: Any) -> None:  # noqa: ANN401 - as urllib3 has them
        super().__init__(*arguments, **named)
        self._door = door

    def _new_conn(self) -> socket.socket:
        return self._door.connect(self.host, self.port, _connect_s(self.timeout))


class _SecureConnection(HTTPSConnection):
    def __init__(self, *arguments: Any, door: Door, **named: Any) -> None:  # noqa: ANN401 - as urllib3 has them
        super().__init__(*arguments, **named)
        self._door = door

    def _new_conn(self) -> socket.socket:
        return self._door.connect(self.host, self.port or _PORTS["https"], _connect_s(self.timeout))


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def _pool(door: Door, url: Url) -> urllib3.HTTPConnectionPool:
    host, scheme = url.host or "", url.scheme or ""
    kind = _SecurePool if scheme == "https" else _PlainPool
    return kind(host, url.port or _PORTS[scheme], maxsize=1, door=door)


def _connect_s(timeout: object) -> float:
    return timeout if isinstance(timeout, float) else CONNECT_S_MAX
