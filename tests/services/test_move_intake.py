"""What an installation has accepted is kept by the one after it before it is forgotten by the first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.support.builders import an_id
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Refusal
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.intake import Arrived, Left, Submission
from tickwright.services.move_intake import move_intake, return_to_intake


def one_left(number: int, *, tenant_id: str = "acme", refused: str | None = None) -> Left:
    submission = Submission(
        tenant_id=TenantId(tenant_id),
        job_id=JobId(an_id(number)),
        key=f"POST /v1/jobs {number}",
        body_hash="a" * 64,
        asked_at=Instant(1_000),
        body="{}",
    )
    return Left(submission=submission, receipt=str(number), refused=refused)


NOTHING = Left(submission=None, receipt="none")


@dataclass
class Queue:
    """A queue of two places a look. `silent_at`: the receipt that it does not let go of."""

    waiting: list[Left]
    silent_at: str = ""
    hidden: set[str] = field(default_factory=set)

    async def take(self) -> Sequence[Left]:
        found = [one for one in self.waiting if one.receipt not in self.hidden][:2]
        self.hidden |= {one.receipt for one in found}
        return found

    async def forget(self, left: Left) -> None:
        if left.receipt == self.silent_at:
            raise QueueUnavailable("silent")
        self.waiting.remove(left)

    async def show(self, left: Left) -> None:
        self.hidden.remove(left.receipt)


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
    """Look by look: what was refused, and what is no submission."""
    found = [one_left(number) for number in range(5)]
    refused = one_left(5, refused="name_taken")
    queue, kept = Queue(waiting=[*found[:2], NOTHING, refused, *found[2:]]), Kept()

    done = await move_intake(queue, kept)

    assert (done.moved, done.left) == (5, 2)
    assert kept.submissions == [one.submission for one in found]
    assert queue.waiting == [NOTHING, refused]


@pytest.mark.sem("SEM-INTAKE-2")
async def test_what_could_not_be_forgotten_is_kept_already() -> None:
    """Dying between the two leaves it twice: what lands twice is one job."""
    found = [one_left(number) for number in range(3)]
    queue, kept = Queue(waiting=list(found), silent_at="1"), Kept()

    with pytest.raises(QueueUnavailable):
        await move_intake(queue, kept)

    assert kept.submissions == [one.submission for one in found[:2]]
    assert queue.waiting == found[1:]


@pytest.mark.sem("SEM-TENANT-2")
async def test_of_what_was_set_aside_only_a_deleted_tenants_own_is_returned() -> None:
    """What was refused for itself was answered; the rest is there for the next look at once."""
    mine = [one_left(number, refused="forbidden") for number in range(3)]
    others = [
        one_left(3, tenant_id="globex", refused="forbidden"),
        one_left(4, refused="name_taken"),
        one_left(5),
        NOTHING,
    ]
    queue, kept = Queue(waiting=[others[0], *mine, *others[1:]]), Kept()

    done = await return_to_intake(queue, kept, TenantId("acme"))

    assert (done.moved, done.left) == (3, 4)
    assert kept.submissions == [one.submission for one in mine]
    assert (queue.waiting, queue.hidden & {one.receipt for one in others}) == (others, set())
    again = await return_to_intake(queue, kept, TenantId("globex"))
    assert (again.moved, again.left) == (1, 3)


@pytest.mark.sem("SEM-INTAKE-2")
async def test_what_was_returned_and_not_forgotten_is_returned_again() -> None:
    """Dying between the two leaves it in both places: the command is repeated, and what lands twice is one job."""
    mine = [one_left(number, refused="forbidden") for number in range(3)]
    queue, kept = Queue(waiting=list(mine), silent_at="1"), Kept()

    with pytest.raises(QueueUnavailable):
        await return_to_intake(queue, kept, TenantId("acme"))
    left = list(queue.waiting)
    queue.silent_at, queue.hidden = "", set()
    done = await return_to_intake(queue, kept, TenantId("acme"))

    assert left == mine[1:]
    assert (done.moved, done.left, queue.waiting) == (2, 0, [])
    assert [one.job_id for one in kept.submissions] == [an_id(number) for number in (0, 1, 1, 2)]
