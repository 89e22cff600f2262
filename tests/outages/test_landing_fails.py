"""Does a submission that does not land say so each time, and how long it has waited?"""

import pytest

from tests.outages.house import House, a_job
from tickwright.api import landing
from tickwright.domain.events import EventName, Happening


def _told(house: House, name: EventName) -> list[Happening]:
    return [one for one in house.world.telemetry.happenings if one.name is name]


async def _accept_one(house: House) -> str:
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    got = await acme.post("/v1/jobs", a_job(house.world))
    assert got.status == 202
    house.world.telemetry.happenings.clear()
    return str(got.json["jobId"])


@pytest.mark.sem("SEM-INTAKE-1")
async def test_a_store_that_stays_away_is_told_at_each_landing_with_the_wait(house: House) -> None:
    """SQS tells no age of what came back a few times: whoever lands it is the one who knows."""
    job_id = await _accept_one(house)

    for _ in range(4):
        await house.world.clock.sleep_ms(300_000)
        assert await house.land_all() == [False]

    waits = _told(house, EventName.SUBMISSION_WAITS)
    assert [one.about["jobId"] for one in waits] == [job_id] * 4
    assert waits[-1].measured["waitedMs"] >= 1_200_000
    assert len(_told(house, EventName.STORE_FAULT)) >= 4


@pytest.mark.sem("SEM-INTAKE-2")
async def test_a_bug_that_keeps_one_from_landing_is_told_and_it_comes_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right that lacks is one too: it counts as a bug of ours, and the submission is kept."""

    async def refuse(*_: object, **__: object) -> None:
        raise PermissionError("not allowed to write")

    job_id = await _accept_one(house)
    await house.recover()
    with monkeypatch.context() as patched:
        patched.setattr(landing, "land", refuse)
        assert await house.land_all() == [False]

    (broke,) = _told(house, EventName.LOOP_BROKE)
    assert (broke.about["jobId"], broke.about["fault"]) == (job_id, "PermissionError")
    assert len(_told(house, EventName.SUBMISSION_WAITS)) == 1
    assert await house.land_all() == [True]
    assert [head.job_id for head in await house.world.heads()] == [job_id]
