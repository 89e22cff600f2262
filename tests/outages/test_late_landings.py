"""Is what lands days after its acceptance still one job with every other request under its key, or refused?"""

import pytest

from tests.api.client import Client
from tests.outages.house import House, a_job, at_another
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.domain.limits import SUBMISSION_LANDS_S_MAX
from tickwright.domain.outcomes import Code
from tickwright.ports.intake import Submission

DAY = 86_400_000
EVERY_HOUR = {"every": "PT1H"}


async def days_later(house: House, days: int) -> None:
    """Whatever may be forgotten by then is gone."""
    house.world.clock.advance(days * DAY)
    store = house.world.kit.store
    assert isinstance(store, EmbeddedStore)
    while await store.sweep(house.world.clock.now()):
        pass


async def accepted(house: House, client: Client, body: object) -> Submission:
    """What waits in the intake for a request that met an outage."""
    await client.get("/v1/me")
    house.mood.is_down = True
    assert (await client.post("/v1/jobs", body, idempotency_key="k")).status == 202
    await house.recover()
    return house.intake.waiting.pop()


async def redriven(house: House, *submissions: Submission) -> list[bool]:
    """They land, or are set aside (once more)."""
    house.intake.waiting = list(submissions)
    return await house.land_all()


@pytest.mark.sem("SEM-INTAKE-1", "SEM-INTAKE-2")
async def test_what_was_set_aside_for_its_job_makes_none_when_it_is_redriven(house: House) -> None:
    """The job was made under an id of chance; two days after that its request would be new, and this one is not."""
    acme, body = await house.client(), a_job(house.world, schedule=EVERY_HOUR)
    before = at_another(acme, house.another(intake=None))
    made = await before.post("/v1/jobs", body, idempotency_key="k")
    submission = await accepted(house, acme, body)
    assert await redriven(house, submission) == [True]
    await days_later(house, 4)

    assert await redriven(house, submission) == [True]

    assert [refusal.code for _, refusal in house.intake.refused] == [Code.IDEMPOTENCY_KEY_REUSED] * 2
    assert all(made.json["jobId"] in refusal.detail for _, refusal in house.intake.refused)
    assert [head.job_id for head in await house.world.heads()] == [made.json["jobId"]]


@pytest.mark.sem("SEM-INTAKE-2")
@pytest.mark.parametrize("overtakes", [False, True], ids=["another-landing", "its-client"])
async def test_what_was_told_the_id_of_a_forgotten_job_makes_one_new_one(house: House, *, overtakes: bool) -> None:
    """Two were accepted, or its client asked again; days after the first of them the second still finds its job."""
    acme, body = await house.client(), a_job(house.world, schedule=EVERY_HOUR)
    old = await acme.post("/v1/jobs", body, idempotency_key="k")
    await days_later(house, 3)
    first, second = [await accepted(house, acme, body) for _ in range(2)]
    if overtakes:
        assert (await acme.post("/v1/jobs", body, idempotency_key="k")).status == 201
    else:
        assert await redriven(house, first) == [True]
    await days_later(house, 4)

    assert await redriven(house, second, first) == [True, True]

    heads = {head.job_id for head in await house.world.heads()}
    assert len(heads - {old.json["jobId"]}) == 1
    assert house.intake.refused == []


@pytest.mark.sem("SEM-INTAKE-2")
async def test_what_its_client_has_sent_again_past_the_rules_of_its_time_is_found(house: House) -> None:
    """By the time that it lands its instant is over, and its pool is gone: it is judged as the first was."""
    acme, body = await house.client(), a_job(house.world)
    before = at_another(acme, house.another(intake=None))
    submission = await accepted(house, acme, body)
    made = await before.post("/v1/jobs", body, idempotency_key="k")
    await days_later(house, 4)

    assert await redriven(house, submission) == [True]

    assert [head.job_id for head in await house.world.heads()] == [made.json["jobId"]]
    assert [refusal.code for _, refusal in house.intake.refused] == [Code.IDEMPOTENCY_KEY_REUSED]


@pytest.mark.sem("SEM-INTAKE-1", "SEM-INTAKE-2")
@pytest.mark.parametrize(("days", "lands"), [(14, True), (16, False)])
async def test_what_comes_after_its_record_may_be_gone_is_set_aside(house: House, days: int, *, lands: bool) -> None:
    """Nobody can tell by then whether its request has made a job; one that stands under its id is its own for ever."""
    assert 14 * 86_400 < SUBMISSION_LANDS_S_MAX < 16 * 86_400
    acme, body = await house.client(), a_job(house.world, schedule=EVERY_HOUR)
    submission = await accepted(house, acme, body)
    await days_later(house, days)

    assert await redriven(house, submission) == [True]

    assert [head.job_id for head in await house.world.heads()] == ([submission.job_id] if lands else [])
    assert [refusal.code for _, refusal in house.intake.refused] == ([] if lands else [Code.DEADLINE])
    await days_later(house, 30)
    assert await redriven(house, submission) == [True]
    assert len(house.intake.refused) == (0 if lands else 2)
