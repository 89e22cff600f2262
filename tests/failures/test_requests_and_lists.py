"""Rows on idempotency, dead letters, sizes and pages: what a client is told, and what it may repeat."""

from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Interject
from tests.support.kits import World
from tests.support.steps import MINUTE, a_minutely_job, a_worker, for_a_while
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, UserResult, an_error
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.job_rules import JobRefused
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import cancel_job
from tickwright.services.jobs import list_executions, list_jobs
from tickwright.services.run_now import run_now
from tickwright.services.submit import RequestKey, Submitted, submit


@pytest.mark.sem("SEM-IDEM-1")
async def test_b159_a_reused_key_is_found_on_every_path(world: World) -> None:
    """By the first read, by the refused transaction, and for a run as for a submit."""
    key, spec = world.key(), world.spec()
    other_body = replace(key, body_hash="b" * 64)
    first = await submit(world.kit, TENANT, spec, key)
    assert isinstance(first, Submitted)
    racing = replace(world.key(), body_hash="c" * 64)
    rival = Interject("write_together", lambda: submit(world.kit, TENANT, spec, replace(racing, body_hash="d" * 64)))
    runs = world.key()
    await run_now(world.kit, TENANT, first.head.job_id, runs)

    answers = [
        await submit(world.kit, TENANT, spec, other_body),
        await submit(world.a_process(rival), TENANT, spec, racing),
        await run_now(world.kit, TENANT, first.head.job_id, replace(runs, body_hash="b" * 64)),
    ]

    assert {answer.code for answer in answers if isinstance(answer, Refusal)} == {Code.IDEMPOTENCY_KEY_REUSED}
    assert not [answer for answer in answers if not isinstance(answer, Refusal)]
    assert len(await world.heads()) == 2


@pytest.mark.sem("SEM-IDEM-1")
async def test_b160_a_key_is_scoped_to_tenant_method_and_path(world: World) -> None:
    """The same word used elsewhere is a key of its own."""
    spec = world.spec()
    for tenant in (TENANT, TenantId("globex")):
        for path in ("POST /v1/jobs", "POST /v1/schedules"):
            answer = await submit(world.kit, tenant, spec, RequestKey(key=f"{path} k", body_hash="a" * 64))
            assert isinstance(answer, Submitted)
            assert not answer.replayed

    assert len(await world.heads()) == 4


@pytest.mark.sem("SEM-IDEM-1")
async def test_b162_a_record_always_has_its_expiry(world: World) -> None:
    """It is a sum of two instants, never 'nothing left': two days from now, to the millisecond."""
    key = world.key()
    await submit(world.kit, TENANT, world.spec(), key)

    record = await world.kit.store.idempotency(TENANT, key.key)

    assert record is not None
    assert record.expires_at == world.clock.now() + limits.IDEMPOTENCY_S * 1_000


@pytest.mark.sem("SEM-DEAD-1")
async def test_b148_attempts_used_up_leave_one_letter_and_no_message(world: World) -> None:
    """The message goes after the letter has been sent, and comes to nobody again."""

    async def broken(invocation: Invocation) -> UserResult:
        return Failure(error=an_error("Broken", "always"))

    world.runner.does = broken
    await world.submit(schedule={"runAt": world.text(1_000)}, retryPolicy={"backoff": {"initialSec": 1}})

    await for_a_while(world, MINUTE, a_worker(world))

    assert (await world.only_execution()).state is State.DEAD
    assert (len(await world.dead_letters()), await world.hints()) == (1, 0)


@pytest.mark.sem("SEM-JOB-3")
@pytest.mark.parametrize("text", ["x" * (limits.PAYLOAD_BYTES_MAX - 1), "é" * (limits.PAYLOAD_BYTES_MAX // 2)])
def test_b154_a_payload_is_measured_in_bytes_as_it_is_stored(text: str) -> None:
    """One over the limit is refused when the job is created, with the true limit; characters do not count."""
    world = World()

    with pytest.raises(JobRefused, match=str(limits.PAYLOAD_BYTES_MAX)) as refused:
        world.spec(payload=text)

    assert [error.pointer for error in refused.value.errors] == ["/payload"]
    assert len(world.spec(payload=text[: len(text) - 2]).payload.encode()) <= limits.PAYLOAD_BYTES_MAX


async def test_b164_a_page_that_a_filter_has_emptied_is_not_the_end(world: World) -> None:
    """The first page holds none of those asked for, and says where the next begins."""
    jobs = [await a_minutely_job(world, 3, name=f"job-{number}") for number in range(6)]
    await cancel_job(world.kit, TENANT, jobs[5].job_id, None)

    found: list[JobId] = []
    after_key, pages = None, 0
    while True:
        page = await list_jobs(world.kit, TENANT, limit=2, status=JobStatus.CANCELLED, after_key=after_key)
        found += [view.head.job_id for view in page.items]
        after_key, pages = page.next_key, pages + 1
        if after_key is None:
            break

    assert (found, pages) == ([jobs[5].job_id], 3)


async def test_b165_a_full_last_page_is_followed_by_nothing_twice(world: World) -> None:
    """Exactly as many as the limit: every one is listed once, and the walk ends."""
    job = await world.submit(schedule={"every": "PT1M", "maxRuns": 10}, overlap={"mode": "allow"})
    await world.drain()

    seen = []
    after_key, pages = None, 0
    while pages < 5:
        page = await list_executions(world.kit, TENANT, job.job_id, limit=10, after_key=after_key)
        assert not isinstance(page, Refusal)
        seen += [execution.ref for execution in page.items]
        after_key, pages = page.next_key, pages + 1
        if after_key is None:
            break

    assert len(seen) == len(set(seen)) == 10
    assert pages <= 2
