"""Each fault is what its name says, to a caller and to the service behind the proxy."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.chaos.faults import Fate, Fault, Kind, Service
from tests.chaos.proxy import Proxy, Whole, end, listen, read_whole

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
IN_CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
REQUEST = (
    b"POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: DynamoDB_20120810.UpdateItem\r\n"
    b"User-Agent: Botocore/1 app/w1.3 md/x\r\nContent-Length: 4\r\n\r\nbody"
)


class Fixed(Fate):
    """The same fault for every call."""

    def __init__(self, fault: Fault | None, service: Service) -> None:
        """Whoever calls."""
        super().__init__(seed=1, service=service, windows=[], quiet_ms=1)
        self.fault = fault

    def meet(self, member: str, operation: str, at_ms: int) -> Fault | None:
        """As it was given."""
        return self.fault


@dataclass
class Upstream:
    """A service that notes what it was asked."""

    reply: bytes = REPLY
    asked: list[Whole] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Each request of a connection."""
        while (request := await read_whole(reader)) is not None:
            self.asked.append(request)
            self.came.set()
            writer.write(self.reply)
        await end(writer)


@asynccontextmanager
async def struck(
    upstream: Upstream, fault: Fault | None, log: Path, service: Service = Service.DYNAMODB
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection through a proxy that strikes every call."""
    behind = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    place = f"http://127.0.0.1:{behind.sockets[0].getsockname()[1]}"
    opened = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    server, _ = await listen(Proxy(fate=Fixed(fault, service), upstream=place, start_ms=0, log=opened))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
    try:
        yield reader, writer
    finally:
        await end(writer)
        server.close()
        behind.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        os.close(opened)


async def said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
    """The answer to one request, or None where the connection ended instead."""
    writer.write(REQUEST)
    answer = await read_whole(reader)
    return None if answer is None else answer.raw


@pytest.mark.parametrize("reply", [REPLY, IN_CHUNKS])
async def test_without_a_fault_both_sides_see_what_the_other_sent(tmp_path: Path, reply: bytes) -> None:
    """Byte for byte, over one connection, whole or in chunks."""
    upstream = Upstream(reply)
    async with struck(upstream, None, tmp_path / "log") as streams:
        assert [await said(*streams), await said(*streams)] == [reply, reply]

    assert [one.raw for one in upstream.asked] == [REQUEST, REQUEST]


@pytest.mark.parametrize(("kind", "times"), [(Kind.CUT, 0), (Kind.LOST, 1)])
async def test_a_cut_call_is_not_carried_out_and_a_lost_one_is(tmp_path: Path, kind: Kind, times: int) -> None:
    """The caller sees the connection end in both cases, and cannot tell them apart."""
    upstream = Upstream()
    async with struck(upstream, Fault(kind=kind), tmp_path / "log") as streams:
        assert await said(*streams) is None

    assert len(upstream.asked) == times


@pytest.mark.parametrize(
    ("service", "kind", "told"),
    [
        (Service.DYNAMODB, Kind.ERROR, "500 InternalServerError"),
        (Service.DYNAMODB, Kind.LATE_ERROR, "500 InternalServerError"),
        (Service.DYNAMODB, Kind.THROTTLE, "400 ProvisionedThroughputExceededException"),
        (Service.SQS, Kind.ERROR, "500 InternalFailure"),
        (Service.SQS, Kind.LATE_ERROR, "500 InternalFailure"),
        (Service.SQS, Kind.THROTTLE, "403 RequestThrottled"),
    ],
)
async def test_an_error_is_worded_as_the_service_words_it(
    tmp_path: Path, service: Service, kind: Kind, told: str
) -> None:
    """Only what a late one was told of has been carried out."""
    upstream = Upstream()
    async with struck(upstream, Fault(kind=kind), tmp_path / "log", service) as streams:
        answer = await said(*streams)

    assert answer is not None
    status, code = answer.split()[1].decode(), json.loads(answer.partition(b"\r\n\r\n")[2])["__type"].rpartition("#")[2]
    assert f"{status} {code}" == told
    assert len(upstream.asked) == (kind is Kind.LATE_ERROR)


@pytest.mark.parametrize("kind", [Kind.DELAY, Kind.HELD])
async def test_a_call_that_was_kept_back_is_carried_out_though_its_caller_has_gone(tmp_path: Path, kind: Kind) -> None:
    """It arrives when its time has come: a write of the dead."""
    upstream = Upstream()
    async with struck(upstream, Fault(kind=kind, for_ms=50), tmp_path / "log") as (_, writer):
        writer.write(REQUEST)
        await writer.drain()
        writer.close()
        async with asyncio.timeout(10):
            await upstream.came.wait()

    assert upstream.asked[0].raw == REQUEST


async def test_each_fault_is_written_down_with_whom_it_befell(tmp_path: Path) -> None:
    """The member is the name that the SDK says of its application."""
    async with struck(Upstream(), Fault(kind=Kind.CUT), tmp_path / "log") as streams:
        await said(*streams)

    (line,) = [json.loads(text) for text in (tmp_path / "log").read_text().splitlines()]
    told = {"service": "dynamodb", "member": "w1.3", "operation": "UpdateItem", "fault": "cut", "forMs": 0}
    assert {name: line[name] for name in told} == told
