"""Is every reason told, once, and truly?"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.builders import TICK, an_execution
from tickwright.domain.attempts import an_error
from tickwright.domain.executions import STOPPED_FOR_DRAINING, PassedOver, Reason
from tickwright.domain.explanations import explain
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.reasons import REASONS, why
from tickwright.domain.transitions import State
from tickwright_sdk.context import DRAINING, Context

_CORE = Path(__file__).parents[2] / "layers" / "core" / "python" / "tickwright"
_NOT_GIVEN = {Reason.QUEUE_FULL, Reason.UPSTREAM_FAILED}


@pytest.mark.sem("SEM-REASON-1")
def test_every_reason_is_told_in_two_sentences() -> None:
    """What it means and what to do, each ended and fit for a cell of a table."""
    assert set(REASONS) == set(Reason)
    for told in REASONS.values():
        assert told.statuses
        for sentence in (told.means, told.remedy):
            assert re.fullmatch(r"[A-Z][^|\n]+\.", sentence)


@pytest.mark.sem("SEM-REASON-1")
def test_the_reasons_that_are_never_given_say_so() -> None:
    """A reason that no rule gives is told as such, and no other."""
    given = "".join(path.read_text() for folder in ("domain", "services") for path in (_CORE / folder).rglob("*.py"))
    source = given.replace((_CORE / "domain" / "reasons.py").read_text(), "")

    assert {one for one in Reason if f"Reason.{one.name}" not in source} == _NOT_GIVEN
    assert {one for one, told in REASONS.items() if "does not give it" in told.remedy} == _NOT_GIVEN


@pytest.mark.sem("SEM-REASON-1")
def test_a_row_of_a_range_says_how_many_and_which_calendar() -> None:
    """The count, both ends, and the version that closed them; a lower bound is told as one."""
    last = Instant(TICK + 7_200_000)
    passed = PassedOver(first=TICK, last=last, count=3, reason=Reason.BLACKOUT, by="holidays@3")
    closed = an_execution(state=State.SKIPPED, reason=Reason.BLACKOUT, passed=passed, finished_at=last)
    many = PassedOver(first=TICK, last=last, count=10_000, exact=False)
    missed = an_execution(state=State.SKIPPED, reason=Reason.MISSED, passed=many, finished_at=last)
    told = explain(closed, last, lease_ms=60_000).waits_for

    span = f"from {to_rfc3339(TICK)} to {to_rfc3339(last)}"
    assert told.startswith("nothing: it is SKIPPED (blackout). A calendar")
    assert f"This row stands for 3 ticks {span}, closed by holidays@3." in told
    assert f"at least 10000 ticks {span}." in why(missed)


@pytest.mark.sem("SEM-REASON-1")
@pytest.mark.parametrize(
    ("error_class", "has", "has_not"),
    [
        ("BadPayload", "POST rerun", "redrive it"),
        ("BadResult", "what the handler returns", "4xx"),
        ("Http404", "Mend the target and redrive it. An edit of the job takes POST rerun", "another payload"),
    ],
)
def test_a_death_quotes_its_error_and_says_what_mends_it(error_class: str, has: str, has_not: str) -> None:
    """The same payload would fail again; what was returned is no answer of a server."""
    error = an_error(error_class, "card is a number.")
    told = why(an_execution(state=State.DEAD, reason=Reason.FATAL, error=error, attempt=1, lease_epoch=1))

    assert f"Its error: {error_class}: card is a number. " in told
    assert has in told
    assert has_not not in told


@pytest.mark.sem("SEM-REASON-1")
def test_a_retry_says_when_and_quotes_what_went_wrong() -> None:
    """What to do with one that is dead is not its business."""
    at = Instant(TICK + 90_000)
    failed = an_execution(
        state=State.RETRY,
        reason=Reason.FAILED,
        error=an_error("DbError", "no room"),
        attempt=1,
        lease_epoch=1,
        retry_at=at,
    )
    told = explain(failed, TICK, lease_ms=60_000)

    assert told.waits_for.startswith(f"the end of its backoff at {to_rfc3339(at)}, then attempt 2 of ")
    assert told.waits_for.endswith(
        "The target failed; error says how. Its error: DbError: no room. It is tried again by itself."
    )
    assert told.starts_at == at


@pytest.mark.sem("SEM-REASON-1")
def test_what_asked_to_be_tried_later_and_what_was_drained_are_told_apart() -> None:
    """One waits for the time that it asked for; the other stopped for its worker's sake."""
    at = Instant(TICK + 90_000)
    asked, drained = (
        an_execution(
            state=State.RETRY,
            reason=Reason.RETRY_LATER,
            error=an_error("RetryLater", message),
            lease_epoch=1,
            attempt=0,
            retry_at=at,
        )
        for message in ("the file is not there", STOPPED_FOR_DRAINING)
    )
    later = explain(asked, TICK, lease_ms=60_000).waits_for

    assert later.startswith(f"the time that it asked for, {to_rfc3339(at)}, then attempt 1 of ")
    assert "It said: the file is not there. No attempt was counted" in later
    assert "Its worker was stopping" in why(drained)
    assert explain(drained, TICK, lease_ms=60_000).waits_for.startswith("another worker from ")
    assert "asked" not in why(drained)


def test_the_sdk_says_of_a_drained_run_what_is_looked_for() -> None:
    """The words are the SDK's, and are read here."""
    drained = Context.stopped(cast("Context", SimpleNamespace(cancel_reason=DRAINING)))

    assert drained.message == STOPPED_FOR_DRAINING


@pytest.mark.sem("SEM-REASON-1")
def test_a_run_that_is_held_says_until_when_and_what_then() -> None:
    """A worker's lease, a hand-over until the deadline, one that is over, and one that is to stop."""
    hour = Instant(TICK + 3_600_000)
    soon, past = Instant(TICK + 40_000), Instant(TICK - 1)

    def held(until: Instant, **changed: object) -> str:
        row = an_execution(
            **{"state": State.RUNNING, "attempt": 1, "lease_epoch": 1, "lease_owner": "w-1", "deadline_at": hour}
            | {"lease_until": until, "started_at": TICK}
            | changed
        )
        return explain(row, TICK, lease_ms=60_000).waits_for

    assert held(soon).endswith(f"on w-1 (lease until {to_rfc3339(soon)}; taken over after that if nothing is heard)")
    assert held(past).endswith(f"(lease until {to_rfc3339(past)}; over, it is about to be taken over)")
    assert held(hour).startswith("the end of attempt 1 of ")
    assert f"by POST /complete or /fail, until its time is over at {to_rfc3339(hour)}" in held(hour)
    assert held(soon, deadline_at=soon).endswith(f"on w-1, until its time is over at {to_rfc3339(soon)}")
    stopping = held(soon, state=State.CANCELLING, reason=Reason.CANCELLED)
    assert f"on w-1 to stop, until {to_rfc3339(soon)} at the latest (cancelled). " in stopping


def test_what_has_no_reason_is_not_explained_by_one() -> None:
    """Its status says it all."""
    assert why(an_execution()) == ""
