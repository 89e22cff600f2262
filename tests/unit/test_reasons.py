"""Is every reason told, once, and truly?"""

import re
from pathlib import Path

import pytest

from tests.support.builders import TICK, an_execution
from tickwright.domain.executions import PassedOver, Reason
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.reasons import REASONS, why
from tickwright.domain.transitions import State
from tickwright.services.jobs import explain

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
    told = explain(closed, last).waits_for

    span = f"from {to_rfc3339(TICK)} to {to_rfc3339(last)}"
    assert told.startswith("nothing: it is SKIPPED (blackout). A calendar")
    assert f"This row stands for 3 ticks {span}, closed by holidays@3." in told
    assert f"at least 10000 ticks {span}." in why(missed)


def test_what_has_no_reason_is_not_explained_by_one() -> None:
    """Its status says it all."""
    assert why(an_execution()) == ""
