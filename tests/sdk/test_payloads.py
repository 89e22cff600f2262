"""Does a handler get its payload as it asks for it, or a word about what does not fit?"""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from tests.sdk.links import a_context
from tickwright_sdk import Context, HandlerRefused, Registry, Submitted
from tickwright_sdk.calling import called
from tickwright_sdk.handlers import AnyJob
from tickwright_sdk.payloads import BadPayload
from tickwright_sdk.results import Failed, Result, Succeeded
from tickwright_sdk.terms import Terms

if TYPE_CHECKING:
    from decimal import Decimal


class Bill(BaseModel):
    """A payload."""

    account: str
    cents: int = 0


class Receipt(BaseModel):
    """A result."""

    total: int


@dataclasses.dataclass
class Point:
    """A plain dataclass."""

    x: int
    y: int


def registered(fn: Callable[[Any, Context], object]) -> AnyJob:
    """As a job."""
    return Registry().job("it")(fn)


def call(fn: Callable[[Any, Context], object], payload: object) -> Result:
    """The handler called with a payload."""
    return called(registered(fn), json.dumps(payload), a_context())


@pytest.mark.sem("SEM-SDK-4")
def test_a_payload_is_read_into_the_model_that_the_handler_asks_for() -> None:
    """And a model that it returns is its result."""

    def bill(payload: Bill, _ctx: Context) -> Receipt:
        return Receipt(total=payload.cents + 1)

    assert call(bill, {"account": "a", "cents": 41}) == Succeeded(result='{"total":42}')


def test_a_dataclass_is_read_and_returned() -> None:
    """Any type that pydantic knows will do."""

    def move(payload: Point, _ctx: Context) -> Point:
        return dataclasses.replace(payload, x=payload.x + 1)

    assert call(move, {"x": 1, "y": 2}) == Succeeded(result='{"x":2,"y":2}')


@pytest.mark.sem("SEM-SDK-4")
def test_a_payload_that_does_not_fit_is_fatal_and_says_where_but_not_what() -> None:
    """It will not fit the next time either; its values, which may be secret, stay out of the error."""

    def bill(_payload: Bill, _ctx: Context) -> None: ...

    result = call(bill, {"account": 17, "cents": "s3cret"})

    assert isinstance(result, Failed)
    assert (result.error_class, result.fatal) == ("BadPayload", True)
    assert "account" in result.message
    assert "cents" in result.message
    assert "s3cret" not in result.message


def want_dict(_payload: dict[str, Any], _ctx: Context) -> None: ...
def want_mapping(_payload: Mapping[str, object], _ctx: Context) -> None: ...
def want_int(_payload: int, _ctx: Context) -> None: ...
def want_float(_payload: float, _ctx: Context) -> None: ...
def want_list(_payload: list[Any], _ctx: Context) -> None: ...
def want_nothing(_payload: None, _ctx: Context) -> None: ...


@pytest.mark.parametrize(
    ("handler", "good", "bad"),
    [
        (want_dict, {"a": 1}, [1]),
        (want_mapping, {"a": 1}, "a"),
        (want_int, 3, True),
        (want_int, 3, 3.5),
        (want_float, 3, "3"),
        (want_list, [1], {"a": 1}),
        (want_nothing, None, 0),
    ],
)
def test_plain_hints_are_held_to(handler: Callable[[Any, Context], object], good: object, bad: object) -> None:
    """True is no number, and a list no object."""
    assert isinstance(call(handler, good), Succeeded)
    assert isinstance(call(handler, bad), Failed)


def test_plain_hints_do_not_load_pydantic() -> None:
    """It takes a third of a second, and need not be installed."""
    program = """
import sys
sys.modules["pydantic"] = None
from tests.sdk.test_payloads_plain import read_all
read_all()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_class_that_is_local_to_whoever_decorates_is_found() -> None:
    """Also under postponed annotations, and where the handler's own code never names it."""

    class Local(BaseModel):
        n: int

    def handler(payload: "Local", _ctx: Context) -> int:
        return payload.n

    assert call_local(handler, Local) == Succeeded(result="7")


def call_local(handler: Callable[[Any, Context], object], _local: type) -> Result:
    """Decorated where the class can be seen."""
    Local = _local  # noqa: N806, F841 - the local name that the hint has
    registry = Registry()
    return called(registry.job("it")(handler), '{"n":7}', a_context())


def test_a_class_that_is_defined_further_down_is_found_at_the_first_call() -> None:
    """Not at the decoration: it is not there yet."""
    assert called(EARLY, '{"n":7}', a_context()) == Succeeded(result="7")


def early(payload: "Defined", _ctx: Context) -> int:
    return payload.n


EARLY = registered(early)


class Defined(BaseModel):
    """Stands below the handler that asks for it."""

    n: int


def test_a_hint_that_is_nowhere_at_run_time_is_named() -> None:
    """As those that only a type checker imports."""

    def handler(_payload: "Decimal", _ctx: Context) -> None: ...

    result = call(handler, 1)

    assert isinstance(result, Failed)
    assert (result.error_class, result.fatal) == ("BadHint", True)
    assert "Decimal" in result.message


def test_a_hint_that_json_cannot_be_read_into_is_named() -> None:
    """An arbitrary class has no shape."""

    class Connection: ...

    def handler(_payload: Connection, _ctx: Context) -> None: ...

    result = call(handler, 1)

    assert isinstance(result, Failed)
    assert "Connection" in result.message


class Kept:
    """Keeps what is submitted."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str | None]] = []
        self.terms: Terms = {}

    def submit_call(
        self, handler: str, payload: str, *, key: str | None, run_at: datetime | None, terms: Terms
    ) -> Submitted:
        """Keep it."""
        self.calls.append((handler, payload, key))
        self.terms = terms
        return Submitted(job_id="j", body={})


def test_a_handler_is_submitted_with_the_payload_that_it_takes() -> None:
    """Judged before it is sent, as it will be when it is called."""
    client = Kept()

    def bill(_payload: Bill, _ctx: Context) -> None: ...

    job = registered(bill)

    assert job.submit(Bill(account="a"), key="a-2026-12", client=client).job_id == "j"
    assert client.calls == [("it", '{"account":"a","cents":0}', "a-2026-12")]
    assert client.terms == {}
    job.submit(Bill(account="a"), client=client, timeout_s=60, priority="high")
    assert client.terms == {"timeout_s": 60, "priority": "high"}
    with pytest.raises(BadPayload, match="account"):
        job.submit({"cents": 1}, client=client)
    with pytest.raises(RuntimeError, match="client"):
        job.submit(Bill(account="a"))


@pytest.mark.sem("SEM-SDK-4")
def test_what_cannot_be_a_handler_is_refused_where_it_is_written() -> None:
    """With a word on what to change."""
    registry = Registry()
    registry.job("it")(want_int)

    with pytest.raises(HandlerRefused, match="two handlers"):
        registry.job("it")(want_int)
    with pytest.raises(HandlerRefused, match=r"fn\(payload, ctx\)"):
        registry.job("one")(lambda _payload: None)  # type: ignore[arg-type,misc]
    with pytest.raises(HandlerRefused, match="process=True"):
        registry.job("two", memory_mb=100)(want_int)
    with pytest.raises(HandlerRefused, match="define it at its top"):
        registry.job("three", process=True)(lambda _payload, _ctx: None)


def test_a_registered_function_can_still_be_called_and_looks_the_same() -> None:
    """A test of its own needs no worker."""

    def bill(payload: Bill, _ctx: Context) -> int:
        """Bill somebody."""
        return payload.cents

    job = Registry().job("it")(bill)

    assert job(Bill(account="a", cents=3), a_context()) == 3
    assert (job.fn.__name__, job.__doc__, job.name) == ("bill", "Bill somebody.", "it")
