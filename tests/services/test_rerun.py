"""A dead execution is run again with another payload in its place, or given up: by one write, with the reason."""

import pytest

from tests.support.builders import TENANT
from tests.support.dying import BROKEN, a_death, dies
from tests.support.faulty import Down, Interject, Recorder
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import DAY, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.executions import Cause, Execution, Owed
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable, StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import cancel_job
from tickwright.services.dead_letters import discard_each, inspect
from tickwright.services.redrive import redrive
from tickwright.services.report import report
from tickwright.services.rerun import Edited, rerun
from tickwright.services.run_now import run_now

EDITED = Edited(payload='{"rows":8}', reason="there are eight")


async def rerun_of(world: World, dead: Execution) -> Execution:
    """Run again."""
    answer = await rerun(world.kit, TENANT, dead.ref.id, EDITED, None)
    assert isinstance(answer, Execution)
    return answer


async def row_of(world: World, execution: Execution) -> Execution:
    """As it stands."""
    row = await world.kit.store.execution(execution.ref)
    assert row is not None
    return row


def code_of(answer: object) -> Code:
    """Why it was refused."""
    assert isinstance(answer, Refusal)
    return answer.code


def payloads_seen(world: World) -> list[str]:
    """What the targets are given from now on."""
    seen: list[str] = []

    async def does(invocation: Invocation) -> UserResult:
        seen.append(invocation.definition.spec.payload)
        return Success()

    world.runner.does = does
    return seen


@pytest.mark.sem("SEM-DLQ-3")
async def test_a_new_run_is_given_the_payload_and_names_the_old_one(world: World) -> None:
    """The old one stays DEAD, with the reason, and off the list; its job's other runs are given what they were."""
    dead = await a_death(world, payload={"rows": 7})
    seen = payloads_seen(world)
    new = await rerun_of(world, dead)
    await world.drain()

    old, row = await row_of(world, dead), await row_of(world, new)
    assert (row.state, row.cause, row.rerun_of) == (State.SUCCEEDED, Cause.MANUAL, dead.key)
    assert seen == ['{"rows":8}']
    assert (old.state, old.failed_at, old.lease_epoch) == (State.DEAD, None, dead.lease_epoch + 1)
    assert old.discarded is not None
    assert old.discarded.reason == "there are eight"
    assert (await world.kit.store.attention_eventually(TENANT, limit=10)).items == []
    await check_all(world)


@pytest.mark.sem("SEM-DLQ-3")
async def test_the_new_run_is_of_the_job_as_it_is_now(world: World) -> None:
    """As any run that somebody asks for: a target that was mended is the one that is called."""
    dead = await a_death(world)
    new = await rerun_of(world, dead)
    head = await world.head(dead.job_id)

    assert (new.job_version, new.max_attempts) == (head.definition_version, head.max_attempts)
    assert head.active == new.occupant()


@pytest.mark.sem("SEM-DLQ-3", "SEM-OVERLAP-1")
async def test_a_busy_job_lets_no_rerun_begin(world: World) -> None:
    """Under *skip*: the dead one stays on the list."""
    await a_minutely_job(world, 3)
    world.clock.advance(MINUTE)
    dead = await dies(world, await fired(world))
    await run_now(world.kit, TENANT, dead.job_id, None)

    answer = await rerun(world.kit, TENANT, dead.ref.id, EDITED, None)

    assert code_of(answer) is Code.OVERLAP
    assert await row_of(world, dead) == dead


@pytest.mark.sem("SEM-DLQ-3")
async def test_only_what_is_dead_and_on_the_list_is_run_again(world: World) -> None:
    """Not what runs, not what was discarded, redriven or run again before, not another tenant's."""
    first, second, third = [await a_death(world) for _ in range(3)]
    await rerun_of(world, first)
    await redrive(world.kit, TENANT, second.ref.id, None)
    await discard_each(world.kit, TENANT, [third.ref.id], "gone")
    answers = [await rerun(world.kit, TENANT, one.ref.id, EDITED, None) for one in (first, second, third)]
    answers.append(await rerun(world.kit, TenantId("globex"), first.ref.id, EDITED, None))

    assert [code_of(one) for one in answers] == [Code.DISCARDED, Code.NOT_DEAD, Code.DISCARDED, Code.NOT_FOUND]
    assert len(await world.executions()) == 4


@pytest.mark.sem("SEM-DLQ-3", "SEM-IDEM-1")
async def test_the_same_request_runs_it_again_once(world: World) -> None:
    """A repeat answers the new run as it is by then, though the old one is discarded."""
    dead, key = await a_death(world), world.key()
    first = await rerun(world.kit, TENANT, dead.ref.id, EDITED, key)
    await world.drain()
    again = await rerun(world.kit, TENANT, dead.ref.id, EDITED, key)
    other = await rerun(world.kit, TENANT, dead.ref.id, EDITED, type(key)(key=key.key, body_hash="b" * 64))

    assert isinstance(first, Execution)
    assert isinstance(again, Execution)
    assert (again.ref, again.state) == (first.ref, State.SUCCEEDED)
    assert code_of(other) is Code.IDEMPOTENCY_KEY_REUSED


@pytest.mark.sem("SEM-DLQ-3")
@pytest.mark.parametrize("rival", ["rerun", "redrive", "discard", "cancel"])
async def test_of_two_that_decide_on_one_death_one_wins(world: World, rival: str) -> None:
    """The other is refused whole: no second run, and no payload without one."""
    dead = await a_death(world)
    acts = {
        "rerun": lambda: rerun(world.kit, TENANT, dead.ref.id, EDITED, None),
        "redrive": lambda: redrive(world.kit, TENANT, dead.ref.id, None),
        "discard": lambda: discard_each(world.kit, TENANT, [dead.ref.id], "gone"),
        "cancel": lambda: cancel_job(world.kit, TENANT, dead.job_id, None),
    }
    answer = await rerun(world.a_process(Interject("write_together", acts[rival])), TENANT, dead.ref.id, EDITED, None)

    assert isinstance(answer, Refusal)
    await world.drain()
    ran = [row for row in await world.executions() if row.state is State.SUCCEEDED]
    assert len(ran) == (1 if rival in {"rerun", "redrive"} else 0)
    await check_all(world)


@pytest.mark.sem("SEM-DLQ-3", "SEM-REDRIVE-1")
async def test_a_redrive_is_refused_by_a_discard_that_came_first(world: World) -> None:
    """Whoever saw it on the list has the older epoch."""
    dead = await a_death(world)
    rival = Interject("write_together", lambda: discard_each(world.kit, TENANT, [dead.ref.id], "gone"))

    answer = await redrive(world.a_process(rival), TENANT, dead.ref.id, None)

    assert code_of(answer) is Code.VERSION_CONFLICT
    assert (await row_of(world, dead)).discarded is not None


@pytest.mark.sem("SEM-DLQ-3", "SEM-REDRIVE-1")
async def test_a_person_may_think_better_of_a_discard(world: World) -> None:
    """A redrive that names it takes the discard back; an order by filter never finds it."""
    dead = await a_death(world)
    await discard_each(world.kit, TENANT, [dead.ref.id], "gone")

    opened = await redrive(world.kit, TENANT, dead.ref.id, None)

    assert isinstance(opened, Execution)
    assert (opened.state, opened.discarded, opened.generation) == (State.QUEUED, None, 2)


@pytest.mark.sem("SEM-DLQ-3", "SEM-DEAD-1")
async def test_a_letter_that_is_owed_is_sent_before_it_is_discarded(world: World) -> None:
    """No debt is lost by a decision of a person."""
    job = await world.submit(schedule={"runAt": world.text(0)})
    held = await claimed(world, await world.only_execution(job.job_id))
    with pytest.raises(QueueUnavailable):
        await report(world.a_process(Down(frozenset({"send_dead"}))), held, BROKEN)
    assert (await world.only_execution()).owed == {Owed.DEAD_LETTER}

    done = await discard_each(world.kit, TENANT, [held.ref.id], "gone")

    row = await world.only_execution()
    assert done == {held.ref.id: row}
    assert (row.owed, row.ttl is not None) == (frozenset(), True)
    assert [letter.ref for letter in await world.dead_letters()] == [held.ref]


@pytest.mark.sem("SEM-DLQ-3")
async def test_the_payload_lives_as_long_as_its_run_and_a_redrive_keeps_it(world: World) -> None:
    """A rerun that dies is redriven a month later with the payload it had; and is a dead letter like any other."""
    new = await rerun_of(world, await a_death(world))
    dead = await dies(world, new)
    world.clock.advance(29 * DAY)
    seen = payloads_seen(world)
    before = await world.kit.store.own_payload(new.ref)
    opened = await redrive(world.kit, TENANT, dead.ref.id, None)
    after = await world.kit.store.own_payload(new.ref)
    await world.drain()

    assert isinstance(opened, Execution)
    assert seen == ['{"rows":8}']
    assert before is not None
    assert after is not None
    assert after.expires_at >= before.expires_at + 29 * DAY
    assert dead.ttl is not None
    assert before.expires_at > dead.ttl * 1_000


@pytest.mark.sem("SEM-DLQ-3")
async def test_a_run_whose_payload_is_gone_is_not_run_with_another(world: World) -> None:
    """It dies and says so; the job's own payload is not what was asked for."""
    new = await rerun_of(world, await a_death(world))
    forget = "DELETE FROM control WHERE pk LIKE 'PAYLOAD#%'"
    await world.database.write(lambda connection: connection.execute(forget), StoreUnavailable)
    seen = payloads_seen(world)

    await world.drain()

    row = await row_of(world, new)
    assert (row.state, row.error and row.error.error_class, seen) == (State.DEAD, "PayloadMissing", [])


@pytest.mark.sem("SEM-DLQ-3", "SEM-CANCEL-1")
async def test_a_cancel_finds_a_rerun(world: World) -> None:
    """Also of a job that had ended."""
    dead = await a_death(world)
    new = await rerun_of(world, dead)

    await cancel_job(world.kit, TENANT, dead.job_id, None)

    assert (await row_of(world, new)).state is State.CANCELLED


@pytest.mark.sem("SEM-DLQ-3")
async def test_the_page_comes_before_the_transaction_and_the_hint_after_it(world: World) -> None:
    """As for any run that somebody asks for."""
    dead, recorder = await a_death(world), Recorder()
    new = await rerun(world.a_process(recorder), TENANT, dead.ref.id, EDITED, None)

    assert isinstance(new, Execution)
    assert [call.name for call in recorder.calls if call.writes] == ["put_page", "write_together", "send"]


@pytest.mark.sem("SEM-DLQ-1")
async def test_a_dead_rerun_is_shown_with_its_own_payload(world: World) -> None:
    """What it was given, not what its job gives."""
    dead = await dies(world, await rerun_of(world, await a_death(world, payload={"rows": 7})))

    letter = await inspect(world.kit, TENANT, dead.ref.id)

    assert not isinstance(letter, Refusal)
    assert letter.spec is not None
    assert letter.spec.payload == '{"rows":8}'
