"""Runs an attempt as one HTTP POST, by urllib3 in threads, and reads from the answer how it ended.

Must not know leases. 2xx is success, 202 a hand-over where the job says so; 408, 425, 429 and 5xx are tried again, a
Retry-After heeded; other 4xx and redirects are fatal. One connection an attempt, no proxy, bounded in time and bytes.
Promises: SEM-TARGET-1, SEM-TARGET-2, SEM-TARGET-6, SEM-TARGET-12, SEM-SIGN-1.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, IncompleteRead
from urllib3.util import Timeout, Url, parse_url

from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.targets.doors import AddressRefused, Door
from tickwright.adapters.targets.envelope import body_of, headers_of, may_hand_over
from tickwright.adapters.targets.http_answers import Answer, result_from, said_by, told
from tickwright.adapters.targets.results import timed_out
from tickwright.adapters.targets.threads import CallThreads
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, HandedOver, NotRun, UserResult, an_error
from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import JobSpec
from tickwright.domain.webhooks import WebhookSecret, signed_headers
from tickwright.ports.clock import Clock
from tickwright.ports.faults import Unavailable
from tickwright.ports.runner import GoesOn, Invocation

# A host that does not answer the first packet within this will not; the rest of the attempt is for its work.
CONNECT_S_MAX = 10.0
# More than any result that is kept, enough of an error page to see what it is.
ANSWER_BYTES_MAX = limits.RESULT_BYTES_MAX
_PORTS = {"http": 80, "https": 443}
_UNSENT_S = 5.0  # another worker, or this one by then, has a thread, and the store answers again
# What a tenant's endpoints check signatures with: the newest, and for a while the one before it.
SecretsOf = Callable[[TenantId], Awaitable[Sequence[WebhookSecret]]]


async def unsigned(_tenant_id: TenantId) -> Sequence[WebhookSecret]:
    """Of an installation without a key."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Post:
    spec: JobSpec
    url: Url
    headers: Mapping[str, str]
    body: bytes
    left_s: float
    hands_over: bool  # 202 says that somebody goes on with it, and completes it later


class HttpRunner:
    """The target kind `http`."""

    def __init__(
        self,
        *,
        allow_private: bool,
        secrets_of: SecretsOf = unsigned,
        clock: Clock | None = None,
        places: int = 64,
    ) -> None:
        """For so many attempts at a time; `allow_private` only on one machine and in tests."""
        self._clock = clock or SystemClock()
        self._secrets_of = secrets_of
        self._allow_private = allow_private
        self._threads = CallThreads(places, "http-target")

    async def run(self, invocation: Invocation) -> UserResult | GoesOn:
        """POST once; when time is up or the run is to stop, the connection is closed, whatever it is doing."""
        settings = invocation.definition.spec.target.settings
        left_s = (invocation.deadline_at - self._clock.now()) / 1_000
        if left_s <= 0:
            return timed_out()
        url = _url(str(settings["url"]))
        if isinstance(url, Fatal):
            return url
        try:
            post = await self._post(url, invocation, left_s)
        except Unavailable:  # the secret cannot be read: nothing was sent
            return NotRun(after_s=_UNSENT_S)
        door = Door(allow_private=self._allow_private)
        tenant_id = invocation.definition.tenant_id
        begun = self._threads.begin(tenant_id, lambda: _result(door, post, self._clock.now()))
        if begun is None:
            return NotRun(after_s=_UNSENT_S)
        try:
            async with asyncio.timeout(left_s):
                result, said = await asyncio.wrap_future(begun)
        except TimeoutError:  # no thread has come to it, and nothing was sent; or it did not answer
            return NotRun(after_s=_UNSENT_S) if begun.cancel() else timed_out()
        except asyncio.CancelledError:
            if begun.cancel() or not door.shut():
                raise  # no server has heard of it
            return GoesOn()  # a server that is hung up on may do it all the same
        finally:
            door.shut()
        invocation.log.write(said)
        return result

    async def _post(self, url: Url, invocation: Invocation, left_s: float) -> _Post:
        body = body_of(invocation)
        secrets = await self._secrets_of(invocation.definition.tenant_id)
        at = self._clock.now()
        signed = signed_headers(invocation.execution.ref.id, body, at=at, secrets=secrets) if secrets else {}
        spec = invocation.definition.spec
        headers, hands_over = {**headers_of(invocation), **signed}, may_hand_over(invocation)
        return _Post(spec=spec, url=url, headers=headers, body=body, left_s=left_s, hands_over=hands_over)

    def close(self) -> None:
        """Let the threads go; those that run end by their own time limit."""
        self._threads.close()


def _url(text: str) -> Url | Fatal:
    try:
        url = parse_url(text)
    except HTTPError as fault:
        return Fatal(error=an_error("HttpUrl", f"The URL cannot be used: {fault}"))
    if url.scheme not in _PORTS or not url.host:
        return Fatal(error=an_error("HttpUrl", "The URL is not http or https; edit the job."))
    return url


def _result(door: Door, post: _Post, now: int) -> tuple[UserResult, str]:
    """In a thread: what became of the POST, and what the log says of it."""
    try:
        answer = _answer(door, post)
    except AddressRefused as refused:
        return Fatal(error=an_error("HttpAddressRefused", f"{refused}; only public addresses are reached.")), ""
    except (HTTPError, OSError) as fault:
        return Failure(error=an_error("HttpUnreachable", f"{type(fault).__name__}: {fault}")), ""
    quoted = told(answer, post.spec)
    is_handed_over = post.hands_over and answer.status == HTTPStatus.ACCEPTED
    result = HandedOver() if is_handed_over else result_from(answer, quoted, now)
    return result, said_by(quoted, result)


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
            if len(body) <= ANSWER_BYTES_MAX and response.length_remaining:
                raise IncompleteRead(len(body), response.length_remaining)  # whoever hung up may not have done it
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
