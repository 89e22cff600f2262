"""How often and how long is a call tried again, and what passes?"""

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from tests.unit.adapters.scripted import CountingEntropy, QuickClock, error, timeout
from tickwright.adapters.aws.faults import is_put_off, passing_fault
from tickwright.adapters.aws.patience import Patience, Persistence, TryAgain
from tickwright.domain.limits import STORE_PATIENCE_MS
from tickwright.ports.faults import StoreBusy, StoreUnavailable


def persistence(clock: QuickClock, *, fraction: float = 0.5, patience: Patience | None = None) -> Persistence:
    return Persistence(
        clock=clock,
        entropy=CountingEntropy(fraction),
        patience=patience or Patience(),
        fault=StoreUnavailable,
        busy=StoreBusy,
    )


@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.999])
async def test_waits_are_drawn_from_nothing_up_to_a_growing_bound(fraction: float) -> None:
    """Full jitter: a herd that was throttled together does not come back together."""
    clock = QuickClock()

    async def never() -> None:
        raise timeout()

    with pytest.raises(StoreUnavailable, match="it: ReadTimeoutError, after 8 tries"):
        await persistence(clock, fraction=fraction).persist("it", never)

    assert clock.slept_ms == [int(most * fraction) for most in (25, 50, 100, 200, 400, 800, 1_000)]


PUT_OFF = [
    error("ThrottlingException"),
    error("ProvisionedThroughputExceededException"),
    error("TransactionConflictException"),
    error("TransactionInProgressException"),
    TryAgain("UnprocessedKeys"),
]


@pytest.mark.parametrize("said", PUT_OFF, ids=str)
async def test_whoever_is_put_off_to_the_end_is_told_so_before_it_looks_like_silence(said: Exception) -> None:
    """A throttle or a conflict is an answer: within two seconds, by however long the waits are, it is said as one."""
    for fraction in (0.0, 0.5, 0.999):
        clock = QuickClock()

        async def put_off() -> None:
            raise said

        with pytest.raises(StoreBusy, match=r"it: .*, after [5-8] tries"):
            await persistence(clock, fraction=fraction).persist("it", put_off)

        assert clock.monotonic_ms() < STORE_PATIENCE_MS


@pytest.mark.parametrize(
    "fault", [timeout(), error("InternalServerError", status=500), error("ServiceUnavailable", status=503)], ids=str
)
async def test_who_gets_no_answer_is_not_told_that_there_was_one(fault: Exception) -> None:
    """The last word counts: a throttle before it says nothing of now, and one after it says that the store is there."""
    earlier, later = [error("ThrottlingException"), *[fault] * 7], [*[fault] * 7, error("ThrottlingException")]
    told: list[type[Exception]] = []
    for faults in (earlier, later):

        async def attempt(left: list[Exception] = faults) -> None:
            raise left.pop(0)

        with pytest.raises(StoreUnavailable) as raised:
            await persistence(QuickClock()).persist("it", attempt)
        told.append(raised.type)

    assert told == [StoreUnavailable, StoreBusy]


async def test_an_answer_ends_the_trying() -> None:
    """The first one that comes."""
    clock, answers = QuickClock(), [TryAgain("no"), TryAgain("no")]

    async def third() -> str:
        if answers:
            raise answers.pop()
        return "yes"

    assert await persistence(clock).persist("it", third) == "yes"
    assert len(clock.slept_ms) == 2


async def test_what_nobody_foresaw_is_raised_as_it_is() -> None:
    """A bug in an attempt is not a fault of the world."""

    async def broken() -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await persistence(QuickClock()).persist("it", broken)


def test_patience_without_a_try_is_a_bug() -> None:
    """Nothing would ever be asked."""
    with pytest.raises(AssertionError):
        Patience(tries_max=0)


@pytest.mark.parametrize(
    "fault",
    [
        error("ThrottlingException"),
        error("TransactionInProgressException"),
        error("anything", status=500),
        error("", status=503),
        error("ExpiredTokenException"),
        ConnectTimeoutError(endpoint_url="http://x"),
        ReadTimeoutError(endpoint_url="http://x"),
        ConnectionClosedError(endpoint_url="http://x"),
        ResponseParserError("cut in the middle"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_fault_that_passes_has_a_name(fault: Exception) -> None:
    """It stands in the message of what is raised at the end."""
    assert passing_fault(fault) is not None


@pytest.mark.parametrize(
    "fault",
    [error("InternalServerError", status=500), error("ThrottlingException", status=503), timeout(), KeyError("bug")],
    ids=str,
)
def test_an_ill_service_has_put_nobody_off(fault: Exception) -> None:
    """Whatever it calls it: a service that says that it is ill answers nobody."""
    assert not is_put_off(fault)


@pytest.mark.parametrize(
    "fault",
    [
        error("ValidationException"),
        error("AccessDeniedException"),
        error("ConditionalCheckFailedException"),
        error("TransactionCanceledException"),
        NoCredentialsError(),
        ParamValidationError(report="wrong"),
        StoreUnavailable("already judged"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_wrong_request_or_setting_does_not_pass(fault: Exception) -> None:
    """Asking again would only hide it."""
    assert passing_fault(fault) is None
