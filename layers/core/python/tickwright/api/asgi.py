"""The API for any ASGI server: reads a body no further than its limit, and passes all else on.

Must not know which server (server.py) nor the endpoints.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from tickwright.api.call import Api
from tickwright.api.exchange import Request, Response
from tickwright.api.problems import UNAVAILABLE, problem_response
from tickwright.api.routes import ROUTES
from tickwright.api.service import answer
from tickwright.domain import limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Message, Receive, Send], Awaitable[None]]


def asgi_app(api: Api, ending: "asyncio.Event") -> AsgiApp:
    """The API as an ASGI application. It has nothing to start; once `ending` is set it answers what it still holds."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "the server is told to send neither lifespan nor websocket events"
        request = await _request(scope, receive)
        response = await _answered(api, request, ending)
        # What was not read would be read now, to the end, before the next request: better to part.
        await _send(send, response, parts=len(request.body) > limits.BODY_BYTES_MAX)

    return app


async def _answered(api: Api, request: Request, ending: "asyncio.Event") -> Response:
    """The answer; 503 where the server ends and it does not come within a second: a claim may wait much longer."""
    answering = asyncio.ensure_future(answer(api, request, ROUTES))
    ends = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({answering, ends}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            await asyncio.wait({answering}, timeout=_LAST_S)
        return answering.result() if answering.done() else problem_response(UNAVAILABLE, api.kit.entropy.token())
    finally:
        ends.cancel()
        answering.cancel()


async def _request(scope: Message, receive: Receive) -> Request:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    client = scope.get("client")
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=tuple(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
        headers=headers,
        body=await _body(receive),
        source_ip=client[0] if client else "",
    )


async def _body(receive: Receive) -> bytes:
    """The body, or its beginning with one byte more than is allowed: then the endpoint refuses it."""
    body = bytearray()
    while len(body) <= limits.BODY_BYTES_MAX:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)
    await _swallow(receive)
    return bytes(body)


async def _swallow(receive: Receive) -> None:
    """Read the rest of a body that is refused, within bounds.

    Whoever parts in the middle resets the connection, and the caller never sees why.
    """
    left = limits.SWALLOWED_BYTES_MAX
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


async def _send(send: Send, response: Response, *, parts: bool) -> None:
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers.items()]
    if response.status != _NOT_MODIFIED:
        headers.append((b"content-length", str(len(response.body)).encode()))
    if parts:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


_NOT_MODIFIED = 304
_LAST_S = 1.0
