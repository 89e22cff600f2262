"""Who still needs a pool, and what is said of it to whoever would delete it."""

from dataclasses import replace

import pytest

from tests.support.builders import TENANT, TICK, a_head, an_execution
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobSpec, JobStatus, Target
from tickwright.domain.pools import LAMBDA, Pool, PoolName, Users, delete_refusal
from tickwright.domain.transitions import State

GPU = PoolName("gpu")
POOL = Pool(tenant_id=TENANT, name=GPU, description=None, created_at=TICK)
TO_GPU = JobSpec(schedule='{"r":0}', source={}, target=Target(kind="pool", settings={"pool": "gpu", "handler": "h"}))


@pytest.mark.sem("SEM-POOL-6")
@pytest.mark.parametrize(
    ("status", "pool", "pending", "names"),
    [
        (JobStatus.PAUSED, GPU, None, True),
        (JobStatus.CANCELLED, GPU, TO_GPU, False),
        (JobStatus.ENDED, LAMBDA, TO_GPU, False),
        (JobStatus.PAUSED, LAMBDA, TO_GPU, True),
        (JobStatus.PAUSED, LAMBDA, None, False),
    ],
)
def test_a_job_names_a_pool_as_it_is_or_as_its_waiting_edit_has_it(
    status: JobStatus, pool: PoolName, pending: JobSpec | None, *, names: bool
) -> None:
    """One that is over names none."""
    head = replace(a_head(), status=status, pool=pool, bucket=None, next_run_at=None)

    assert head.names_pool(GPU, pending) is names


@pytest.mark.sem("SEM-POOL-6")
@pytest.mark.parametrize(
    ("execution", "is_up"),
    [
        (an_execution(state=State.QUEUED), True),
        (an_execution(state=State.RUNNING), False),
        (an_execution(state=State.SUCCEEDED), False),
    ],
)
def test_a_run_waits_for_a_machine_while_nobody_holds_it_and_it_has_not_ended(
    execution: Execution, *, is_up: bool
) -> None:
    """What a machine holds it may finish, whatever becomes of its pool."""
    assert execution.is_up_for_a_claim is is_up


@pytest.mark.sem("SEM-HANDOVER-1")
def test_a_lease_is_missed_sooner_only_by_more_than_two_clocks_differ() -> None:
    """By less, whoever looks at the later one comes in time for the earlier."""
    held = an_execution(state=State.RUNNING)
    assert held.lease_until is not None

    assert held.is_missed_sooner_by(Instant(held.lease_until - 2_001), 1_000)
    assert not held.is_missed_sooner_by(Instant(held.lease_until - 2_000), 1_000)
    assert not an_execution(state=State.QUEUED).is_missed_sooner_by(TICK, 1_000)


@pytest.mark.sem("SEM-POOL-6")
def test_hints_are_not_called_runs() -> None:
    """A run has one or more, and those of what has ended may lie there still."""
    execution = an_execution()
    known = Users().and_more(jobs=[], runs=[execution.ref])
    unsure = delete_refusal(POOL, None, Users().and_hints(40), force=False)
    both = delete_refusal(POOL, None, known.and_hints(40), force=False)
    all_seen = delete_refusal(POOL, None, known, force=False)

    assert unsure is not None
    assert unsure.detail.startswith("It may be in use: its queues hold 40 hints of runs; not all jobs were looked at")
    assert both is not None
    assert f"such as {execution.ref.id}, and its queues hold 40 hints of runs (not all" in both.detail
    assert all_seen is not None
    assert "hint" not in all_seen.detail
    assert delete_refusal(POOL, None, Users(), force=False) is None
    assert delete_refusal(POOL, None, known.and_hints(40), force=True) is None
    assert delete_refusal(POOL, None, Users(jobs=(JobId("j"),)), force=True) is not None
