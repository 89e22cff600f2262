"""Is a batch asked again as far as it was not answered, and is each of its answers true?"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from tests.outages.house import House, a_job, at_another, back_after
from tests.support.faulty import Call as PortCall
from tests.support.faulty import Fate, Script, Tap
from tickwright.api import jobs
from tickwright.domain.changes.heads import PutHead
from tickwright.domain.limits import INTAKE_AFTER_MS, STORE_PATIENCE_MS, SUBMIT_INSISTS_MS

AnswerT = TypeVar("AnswerT")


@dataclass(slots=True)
class Heads:
    """A process whose fate strikes at one creation; it counts how often each job was asked for."""

    fate: Script
    asked: dict[str, int] = field(default_factory=dict)

    async def through(self, call: PortCall, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """One call."""
        for change in call.what if isinstance(call.what, tuple) else ():
            if isinstance(change, PutHead):
                self.asked[change.head.listed_as] = self.asked.get(change.head.listed_as, 0) + 1
        return await self.fate.through(call, do)


def struck(house: House, tap: Tap) -> House:
    """The same installation behind this tap."""
    house.kit = house.world.a_process(tap)
    house.api = house.another()
    return house


@pytest.mark.sem("SEM-INTAKE-3")
async def test_each_job_of_a_batch_comes_into_being_once(house: House) -> None:
    """Whatever the store applied while it did not answer, and however often it was asked."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down, house.mood.applies_writes = True, True
    jobs = [a_job(house.world, name=f"job-{number}") for number in range(20)]

    got, _ = await asyncio.gather(acme.post("/v1/jobs/batch", {"jobs": jobs}), back_after(house, 300))

    assert [outcome["status"] for outcome in got.json["outcomes"]] == [201] * 20
    assert len(await house.world.heads()) == 20


@pytest.mark.sem("SEM-INTAKE-3")
async def test_a_batch_has_its_twenty_seconds_beside_an_intake_too(house: House) -> None:
    """It is never accepted, so nothing is won by cutting it off: a slow store carries it out."""
    acme = await house.client()
    house.mood.slow_writes_ms = 700
    jobs = [a_job(house.world) for _ in range(100)]

    got = await acme.post("/v1/jobs/batch", {"jobs": jobs})

    assert [outcome["status"] for outcome in got.json["outcomes"]] == [201] * 100
    assert not house.api.known_keys.silence.lasts(house.world.clock)


@pytest.mark.sem("SEM-INTAKE-3", "SEM-IDEM-1")
@pytest.mark.parametrize("fate", [Fate.LOST_BEFORE, Fate.LOST_AFTER], ids=lambda fate: fate.name)
async def test_what_was_answered_is_not_asked_again_and_each_answer_is_true(house: House, fate: Fate) -> None:
    """One creation of twenty is lost, applied or not: it alone is repeated; nothing is told as an earlier request's."""
    heads = Heads(fate=Script(at=7, fate=fate, of=PutHead))
    acme = await struck(house, heads).client()
    jobs = [a_job(house.world, name=f"job-{number:02}") for number in range(20)]
    jobs[3] = a_job(house.world, name="job-03", schedule={"cron": "61 * * * *"})
    jobs[11] = {"name": "no job"}

    got = await acme.post("/v1/jobs/batch", {"jobs": jobs}, idempotency_key="k")

    outcomes = got.json["outcomes"]
    made = {number for number in range(20) if number not in {3, 11}}
    assert [outcome["status"] for outcome in outcomes] == [201 if at in made else 422 for at in range(20)]
    assert {outcomes[at]["job"]["name"] for at in made} == {f"job-{at:02}" for at in made}
    assert [outcomes[at]["job"]["name"] for at in sorted(made)] == [f"job-{at:02}" for at in sorted(made)]
    assert [outcome["replayed"] for outcome in outcomes] == [False] * 20
    assert sum(heads.asked.values()) <= len(made) + 1
    again = (await acme.post("/v1/jobs/batch", {"jobs": jobs}, idempotency_key="k")).json["outcomes"]
    assert [again[at]["replayed"] for at in sorted(made)] == [True] * len(made)
    assert [again[at]["job"]["jobId"] for at in sorted(made)] == [outcomes[at]["job"]["jobId"] for at in sorted(made)]


@pytest.mark.sem("SEM-INTAKE-3", "SEM-STALE-1")
async def test_a_batch_is_fired_after_it_was_created_for_five_seconds_at_most(house: House) -> None:
    """A queue that does not answer holds it up no longer than that, and is no silence of the store."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_queue_silent = True
    began_ms = house.world.clock.monotonic_ms()
    jobs = [a_job(house.world, schedule={"runAt": house.world.text(0)}) for _ in range(100)]

    got = await acme.post("/v1/jobs/batch", {"jobs": jobs})

    assert [outcome["status"] for outcome in got.json["outcomes"]] == [201] * 100
    assert house.world.clock.monotonic_ms() - began_ms <= INTAKE_AFTER_MS
    assert not house.api.known_keys.silence.lasts(house.world.clock)
    assert len(await house.world.heads()) == 100


@pytest.mark.sem("SEM-TICK-1")
@pytest.mark.parametrize("fate", [Fate.LOST_BEFORE, Fate.LOST_AFTER], ids=lambda fate: fate.name)
async def test_what_is_due_at_once_is_fired_once(house: House, fate: Fate) -> None:
    """Also the job whose creation was applied and not answered: it is this request's own."""
    acme = await struck(house, Script(at=2, fate=fate, of=PutHead)).client()
    jobs = [a_job(house.world, schedule={"runAt": house.world.text(0)}) for _ in range(5)]

    await acme.post("/v1/jobs/batch", {"jobs": jobs})

    assert len(await house.world.executions()) == 5


@pytest.mark.sem("SEM-INTAKE-3")
async def test_a_batch_that_stays_without_an_answer_ends_in_time(house: House) -> None:
    """As a whole: 503 after its twenty seconds, and after two where a silence lasts; a repeat makes each job once."""
    acme = await house.client()
    client = at_another(acme, house.another())
    await client.get("/v1/me")
    house.mood.is_silent = True
    jobs = [a_job(house.world) for _ in range(100)]
    took_ms: list[int] = []

    for _ in range(2):
        began_ms = house.world.clock.monotonic_ms()
        got = await client.post("/v1/jobs/batch", {"jobs": jobs}, idempotency_key="k")
        took_ms.append(house.world.clock.monotonic_ms() - began_ms)
        assert (got.status, got.json["retryable"]) == (503, True)

    assert took_ms[0] <= SUBMIT_INSISTS_MS + STORE_PATIENCE_MS
    assert took_ms[1] <= 2 * STORE_PATIENCE_MS
    await house.recover()
    assert (await client.post("/v1/jobs/batch", {"jobs": jobs}, idempotency_key="k")).status == 200
    assert len(await house.world.heads()) == 100


@pytest.mark.sem("SEM-API-1")
async def test_what_breaks_a_batch_is_noted_as_what_it_is(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug of ours, in one of its jobs: 500, the log names it, and no other job goes on behind it."""
    acme = await house.client()
    asked: list[int] = []

    async def broken(*_: object) -> None:
        asked.append(1)
        await house.world.clock.sleep_ms(len(asked))
        raise LookupError("a bug")

    monkeypatch.setattr(jobs, "create_once", broken)
    got = await acme.post("/v1/jobs/batch", {"jobs": [a_job(house.world) for _ in range(30)]})

    assert (got.status, got.code) == (500, "internal")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [LookupError]
    begun = len(asked)
    await house.world.clock.sleep_ms(1_000)
    assert len(asked) == begun < 30
