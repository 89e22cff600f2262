"""What an installation has accepted is kept by the one after it before it is forgotten by the first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.support.builders import an_id
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Refusal
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.intake import Arrived, Submission
from tickwright.services.move_intake import move_intake


def an_arrival(number: int) -> Arrived:
    submission = Submission(
        tenant_id=TenantId("acme"),
        job_id=JobId(an_id(number)),
        key=f"POST /v1/jobs {number}",
        body_hash="a" * 64,
        asked_at=Instant(1_000),
        body="{}",
    )
    return Arrived(submission=submission, receipt=str(number))


@dataclass
class Left:
    """A queue of two places a look. `silent_at`: the receipt that it does not let go of."""

    waiting: list[Arrived | None]
    silent_at: str = ""
    shown: set[int] = field(default_factory=set)

    async def take(self) -> Sequence[Arrived | None]:
        found = [place for place in range(len(self.waiting)) if place not in self.shown][:2]
        self.shown |= set(found)
        return [self.waiting[place] for place in found]

    async def forget(self, arrived: Arrived) -> None:
        if arrived.receipt == self.silent_at:
            raise QueueUnavailable("silent")
        self.waiting[self.waiting.index(arrived)] = None


@dataclass
class Kept:
    """The intake of the next installation."""

    submissions: list[Submission] = field(default_factory=list)

    async def put(self, submission: Submission) -> bool:
        self.submissions.append(submission)
        return True

    async def show_again(self, arrived: Arrived, *, after_ms: int) -> None:
        raise AssertionError

    async def set_aside(self, submission: Submission, refusal: Refusal) -> None:
        raise AssertionError


@pytest.mark.sem("SEM-INTAKE-1")
async def test_all_that_waits_is_moved_and_what_nobody_may_land_is_counted() -> None:
    """Look by look."""
    arrivals = [an_arrival(number) for number in range(5)]
    left, kept = Left(waiting=[*arrivals[:2], None, *arrivals[2:]]), Kept()

    done = await move_intake(left, kept)

    assert (done.moved, done.left) == (5, 1)
    assert kept.submissions == [one.submission for one in arrivals]


@pytest.mark.sem("SEM-INTAKE-2")
async def test_what_could_not_be_forgotten_is_kept_already() -> None:
    """Dying between the two leaves it twice: what lands twice is one job."""
    arrivals = [an_arrival(number) for number in range(3)]
    left, kept = Left(waiting=list(arrivals), silent_at="1"), Kept()

    with pytest.raises(QueueUnavailable):
        await move_intake(left, kept)

    assert kept.submissions == [one.submission for one in arrivals[:2]]
    assert [one for one in left.waiting if one is not None] == arrivals[1:]
