"""The fence in S3: the pointer that only moves forward, and the hole that it closes, on moto and on ministack."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Protocol

import boto3
import pytest
from botocore.config import Config

from tickwright_sdk.fences import Fence, FenceRefused, s3

_BUCKETS = count()


class Engine(s3.S3, Protocol):
    """A client that can make buckets too."""

    def create_bucket(self, *, Bucket: str) -> object:  # noqa: N803 - botocore's name
        """Make one."""


def fence(number: int, owner: str = "e1") -> Fence:
    """The fence of one attempt."""
    return Fence(owner=owner, number=number)


@pytest.fixture(params=["moto", "ministack"])
def client(request: pytest.FixtureRequest) -> Engine:
    """A client of each engine."""
    engine = request.getfixturevalue(request.param)
    made: Engine = boto3.client(
        "s3",
        endpoint_url=None if engine is None else engine.endpoint,
        config=Config(s3={"addressing_style": "path"}, proxies={}),
    )
    return made


@pytest.fixture
def bucket(client: Engine) -> str:
    """A bucket of this test's own."""
    name = f"reports-{next(_BUCKETS)}"
    client.create_bucket(Bucket=name)
    return name


class Frozen:
    """A client that stands still just before it moves the pointer, until something else was done."""

    def __init__(self, client: Engine, meanwhile: Iterator[Callable[[], object]]) -> None:
        """`meanwhile`: what happens at each conditional put before it is sent."""
        self._client = client
        self._meanwhile = meanwhile
        self.exceptions = client.exceptions
        self.get_object = client.get_object

    def put_object(self, **request: object) -> object:
        """Freeze where a condition goes with it."""
        if "IfMatch" in request or "IfNoneMatch" in request:
            next(self._meanwhile, lambda: None)()
        return self._client.put_object(**request)


@pytest.mark.sem("SEM-SDK-12")
def test_a_pointer_never_moves_back(client: Engine, bucket: str) -> None:
    """New, equal and higher fences publish; a lower one is refused, and what is read stays."""
    for number in (5, 5, 9, 10):
        s3.publish(client, bucket, "report", b"of %d" % number, fence(number))
    with pytest.raises(FenceRefused) as raised:
        s3.publish(client, bucket, "report", b"zombie", fence(9))

    assert raised.value.seen == 10
    assert s3.read(client, bucket, "report") == b"of 10"


@pytest.mark.sem("SEM-SDK-12")
@pytest.mark.parametrize("before", [None, 5])
def test_an_attempt_that_is_frozen_between_its_look_and_its_put_is_refused(
    client: Engine, bucket: str, before: int | None
) -> None:
    """Also where there was no pointer yet when it looked."""
    if before is not None:
        s3.publish(client, bucket, "report", b"before", fence(before))
    frozen = Frozen(client, iter([lambda: s3.publish(client, bucket, "report", b"of 8", fence(8))]))

    with pytest.raises(FenceRefused):
        s3.publish(frozen, bucket, "report", b"zombie", fence(7))

    assert s3.read(client, bucket, "report") == b"of 8"


@pytest.mark.sem("SEM-SDK-12")
def test_equal_bytes_open_no_hole(client: Engine, bucket: str) -> None:
    """The later attempt writes the very bytes that the earlier one had: an ETag of those would still match."""
    s3.publish(client, bucket, "report", b"same", fence(5))
    frozen = Frozen(client, iter([lambda: s3.publish(client, bucket, "report", b"same", fence(6))]))

    with pytest.raises(FenceRefused):
        s3.publish(frozen, bucket, "report", b"zombie", fence(5))

    assert s3.read(client, bucket, "report") == b"same"


def test_a_race_that_is_lost_to_an_earlier_attempt_is_run_again(client: Engine, bucket: str) -> None:
    """The ETag has changed, but by somebody with a lower fence: the later attempt publishes over it."""
    frozen = Frozen(client, iter([lambda: s3.publish(client, bucket, "report", b"of 5", fence(5))]))

    s3.publish(frozen, bucket, "report", b"of 6", fence(6))

    assert s3.read(client, bucket, "report") == b"of 6"


def test_a_race_without_end_is_given_up(client: Engine, bucket: str) -> None:
    """Five lost races, then the caller decides."""
    others = (lambda: s3.publish(client, bucket, "report", b"%d" % next(_BUCKETS), fence(1)) for _ in range(9))

    with pytest.raises(s3.Busy):
        s3.publish(Frozen(client, others), bucket, "report", b"of 2", fence(2))


def test_two_executions_under_one_key_are_a_mistake_that_is_told(client: Engine, bucket: str) -> None:
    """Their epochs cannot be compared: a zombie of the one would pass for the next of the other."""
    s3.publish(client, bucket, "report", b"of e1", fence(3))

    with pytest.raises(ValueError, match="job_fence_of"):
        s3.publish(client, bucket, "report", b"of e2", fence(1, owner="e2"))


def test_without_a_pointer_there_is_nothing_to_read(client: Engine, bucket: str) -> None:
    """None, not an error; and bytes that were changed behind the pointer are not passed off as published."""
    assert s3.read(client, bucket, "report") is None

    pointer = s3.publish(client, bucket, "report", b"right", fence(1))
    client.put_object(Bucket=bucket, Key=pointer.data_key, Body=b"wrong")

    with pytest.raises(ValueError, match="other bytes"):
        s3.read(client, bucket, "report")
