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

from tests.unit.adapters.scripted import CountingEntropy, QuickClock, error
from tickwright.adapters.aws.faults import passing_fault
from tickwright.adapters.aws.patience import Patience, Persistence, TryAgain
from tickwright.ports.faults import QueueUnavailable, StoreUnavailable


def persistence(clock: QuickClock, *, fraction: float = 0.5, patience: Patience | None = None) -> Persistence:
    return Persistence(
        clock=clock, entropy=CountingEntropy(fraction), patience=patience or Patience(), fault=QueueUnavailable
    )


@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.999])
async def test_waits_are_drawn_from_nothing_up_to_a_growing_bound(fraction: float) -> None:
    """Full jitter: a herd that was throttled together does not come back together."""
    clock = QuickClock()

    async def never() -> None:
        raise TryAgain("no")

    with pytest.raises(QueueUnavailable, match="it: no, after 8 tries"):
        await persistence(clock, fraction=fraction).persist("it", never)

    assert clock.slept_ms == [int(most * fraction) for most in (25, 50, 100, 200, 400, 800, 1_000)]


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
