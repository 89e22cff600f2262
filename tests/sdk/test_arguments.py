"""What a program gives the SDK and cannot be is refused where it is written, before anything is sent."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from tests.sdk.scripted import Says, scripted
from tests.sdk.test_worker_says import program
from tickwright_sdk import Client, Context, Dead, HandlerRefused, RetryPolicy, Worker, WorkerRefused
from tickwright_sdk.fences import Fence
from tickwright_sdk.fences.dynamodb import bury
from tickwright_sdk.fences.sql import FencedWrites
from tickwright_sdk.pull import Pulling
from tickwright_sdk.terms import terms_body

NOWHERE = "http://127.0.0.1:9"
FENCE = Fence(owner="e", number=1)
Write = Callable[[Client], object]


def anything(value: object) -> Any:  # noqa: ANN401 - what a program without type checks may write
    return value


ONE = cast("Sequence[str]", "Word")
WHERE_SEVERAL = {
    "retry_on": lambda _: RetryPolicy(retry_on=ONE),
    "give_up_on": lambda _: RetryPolicy(give_up_on=ONE),
    "secrets": lambda _: terms_body({"secrets": ONE}),
    "lanes": lambda _: Worker(lanes=ONE),
    "lanes of a puller": lambda _: Pulling(pool="p", worker_id="w", lanes=ONE),
    "discard": lambda client: client.dead_letters.discard(ONE, reason="done"),
    "remove": lambda client: bury(anything(client), "t", {}, FENCE, remove=ONE),
    "key": lambda client: FencedWrites(anything(client), FENCE).upsert("t", {"Word": 1}, key=ONE),
}


@pytest.mark.sem("SEM-SDK-18")
@pytest.mark.parametrize("where", WHERE_SEVERAL)
def test_one_text_where_several_are_asked_for_is_not_taken_apart(where: str) -> None:
    """Its letters would be four classes, lanes or ids, of which nobody has ever heard."""
    write: Write = WHERE_SEVERAL[where]
    with Client(NOWHERE, "tw_key") as client, pytest.raises(TypeError, match=r"\['Word'\], and was given one, 'Word'"):
        write(client)


def test_several_texts_may_come_in_any_collection() -> None:
    """A list, a tuple, a set or what is made as it goes."""
    for given in (["A"], ("A",), {"A"}, (text for text in ["A"])):
        assert RetryPolicy(retry_on=anything(given)).body()["retryOn"] == ["A"]
    with pytest.raises(TypeError, match="list of texts"):
        RetryPolicy(retry_on=anything([1]))


@pytest.mark.sem("SEM-SDK-18")
@pytest.mark.parametrize(
    ("write", "fault", "says"),
    [
        (lambda _: Client(anything(None), "k"), TypeError, "https://host, not None"),
        (lambda _: Client(NOWHERE, anything(None)), ValueError, "An API key is"),
        (lambda _: Client("http://127.0.0.1:99999", "k"), ValueError, "The port"),
        (lambda _: Client("http://127.0.0.1:web", "k"), ValueError, "The port"),
        (lambda client: client.job(anything(None)), TypeError, "not None"),
        (lambda client: client.cancel(""), ValueError, "no name and no id"),
        (lambda client: client.pool(".."), ValueError, "no name and no id"),
        (lambda client: client.submit(anything(None)), TypeError, "a job is a dictionary"),
        (lambda client: client.submit_many(anything({"jobs": 1})), TypeError, "each of these jobs is a dictionary"),
        (lambda client: client.submit({}, idempotency_key="ключ"), ValueError, "an idempotency key"),
        (lambda client: client.edits.change("j", {}, "ключ"), ValueError, "an etag"),
        (lambda client: client.preview({}, after=anything("2026-12-01")), TypeError, "a datetime with a zone"),
        (lambda client: list(client.dead_letters.find(Dead(since=datetime(2026, 12, 1)))), ValueError, "needs a zone"),  # noqa: DTZ001
        (lambda _: terms_body({"retry_policy": anything({"maxAttempts": 1})}), TypeError, r"a RetryPolicy\(...\)"),
        (lambda _: Worker(concurrency=anything("8")), TypeError, "concurrency is a whole number, not '8'"),
        (lambda _: Worker(threads=0), ValueError, "threads is 1 at least"),
        (lambda _: Worker(children=-1), ValueError, "children is 1 at least"),
        (lambda _: Worker(health_port=65_536), ValueError, "health_port is 0 at least, 65535 at most"),
        (lambda _: Worker(grace_s=float("nan")), ValueError, "grace_s"),
        (lambda _: Worker().job("x", process=True, memory_mb=0), ValueError, "memory_mb"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(write: Write, fault: type[Exception], says: str) -> None:
    """Nothing is sent: the address answers nobody, and that would be another error."""
    with Client(NOWHERE, "tw_key", wait=lambda _: None) as client, pytest.raises(fault, match=says):
        write(client)


@pytest.mark.sem("SEM-SDK-4", "SEM-SDK-18")
def test_a_handler_that_could_never_be_called_is_refused() -> None:
    """Without brackets the decorator would take the function for the name, and register nothing."""
    worker = Worker()

    def work(_payload: object, _ctx: Context) -> None: ...

    with pytest.raises(HandlerRefused, match=r'@worker\.job\("billing\.nightly"\)'):
        worker.job(anything(work))
    for name in ("", "two words", "x" * 129):
        with pytest.raises(HandlerRefused, match="no name of a handler"):
            worker.job(name)


@pytest.mark.sem("SEM-SDK-10")
@pytest.mark.parametrize("key", ["ключ", "two words", "\n", "", "x" * 300])
def test_a_call_is_submitted_under_any_key(key: str) -> None:
    """What no header can hold is sent as its hash: the same for the same key."""
    with scripted() as server, Client(server.url, "tw_key") as client:
        server.otherwise = lambda _: Says(status=201, body={"jobId": "j"})
        worker = Worker(pool="billing", client=client)

        @worker.job("bill")
        def bill(_payload: object, _ctx: Context) -> None: ...

        for of in (key, key, f"{key}+"):
            bill.submit(None, key=of, run_at=datetime(2026, 12, 1, tzinfo=UTC))
        first, again, other = [asked.headers["idempotency-key"] for asked in server.asked]

    assert first == again != other


@pytest.mark.sem("SEM-SDK-15", "SEM-SDK-18")
async def test_a_worker_whose_health_cannot_be_served_says_so() -> None:
    """Another program has the port: that is said in a line, as all that it cannot work with."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = Worker(pool="p", health_port=port)

        with pytest.raises(WorkerRefused, match=f"127.0.0.1:{port} .*say another health_port"):
            await worker.serve(asyncio.Event())


@pytest.mark.sem("SEM-SDK-15")
@pytest.mark.parametrize("place", [":worker", ".handlers:worker", "", "..:worker"])
def test_a_place_that_names_no_module_is_said_to_be_none(tmp_path: Path, place: str) -> None:
    """One sentence and status 2, no trace of the importer's."""
    ended = program(tmp_path, {}, "-m", "tickwright_sdk", place)

    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "names no module. usage: python -m tickwright_sdk module:worker" in ended.stderr
