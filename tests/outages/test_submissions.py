"""Is a submission asked again within its request, and accepted where the store stays away, as one job?"""

import asyncio
from dataclasses import replace

import pytest

from tests.outages.house import House, a_job, at_another, back_after
from tickwright.api.landing import settle_arrival
from tickwright.api.submissions import insists_ms
from tickwright.domain.deletions import Deletion
from tickwright.domain.events import EventName
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.limits import SUBMIT_INSISTS_MS
from tickwright.domain.outcomes import Code
from tickwright.domain.transitions import State
from tickwright.ports.intake import Arrived


@pytest.mark.sem("SEM-INTAKE-3", "SEM-IDEM-1")
@pytest.mark.parametrize("applies_writes", [False, True], ids=["nothing-applied", "applied-unanswered"])
async def test_a_short_outage_costs_a_wait_and_makes_one_job(house: House, *, applies_writes: bool) -> None:
    """Half a second: the client is answered 201 by the same request, whatever the store did meanwhile."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down, house.mood.applies_writes = True, applies_writes
    began_ms = house.world.clock.monotonic_ms()

    got, _ = await asyncio.gather(acme.post("/v1/jobs", a_job(house.world)), back_after(house, 500))

    assert got.status == 201
    assert 500 <= house.world.clock.monotonic_ms() - began_ms <= 2_500
    assert [head.job_id for head in await house.world.heads()] == [got.json["jobId"]]
    assert house.intake.waiting == []


@pytest.mark.sem("SEM-INTAKE-3")
async def test_without_an_intake_a_request_insists_and_then_says_503(house: House) -> None:
    """For as long as API Gateway lets it, and not longer; nothing was acknowledged, and a repeat makes the job."""
    acme = await house.client()
    alone = at_another(acme, house.another(intake=None, insists_ms=insists_ms(has_intake=False)))
    await alone.get("/v1/me")
    house.mood.is_silent = True
    began_ms = house.world.clock.monotonic_ms()
    body = a_job(house.world)

    got = await alone.post("/v1/jobs", body, idempotency_key="k")

    assert (got.status, got.code, got.json["retryable"]) == (503, "unavailable", True)
    assert house.world.clock.monotonic_ms() - began_ms <= SUBMIT_INSISTS_MS + 5_000
    house.mood.is_silent = False
    assert (await alone.post("/v1/jobs", body, idempotency_key="k")).status == 201
    assert len(await house.world.heads()) == 1


@pytest.mark.sem("SEM-INTAKE-3")
@pytest.mark.parametrize("has_intake", [True, False])
async def test_in_a_silence_that_lasts_nobody_insists(house: House, *, has_intake: bool) -> None:
    """One has insisted in vain: those after it are answered soon, so that they take no places of the API."""
    acme = await house.client()
    api = house.another(**({} if has_intake else {"intake": None, "insists_ms": insists_ms(has_intake=False)}))
    client = at_another(acme, api)
    await client.get("/v1/me")
    house.mood.is_silent = True
    await client.post("/v1/jobs", a_job(house.world))
    began_ms = house.world.clock.monotonic_ms()

    many = await asyncio.gather(*(client.post("/v1/jobs", a_job(house.world)) for _ in range(20)))

    assert {got.status for got in many} == {202 if has_intake else 503}
    assert house.world.clock.monotonic_ms() - began_ms <= 5_000
    assert len(house.intake.waiting) == (21 if has_intake else 0)
    house.mood.is_silent = False
    await house.world.clock.sleep_ms(5_001)
    assert (await client.post("/v1/jobs", a_job(house.world))).status == 201


@pytest.mark.sem("SEM-INTAKE-3", "SEM-STALE-1")
async def test_a_queue_that_does_not_answer_is_no_silence_of_the_store(house: House) -> None:
    """A job that is due is created, and fired by the loop; nobody takes the store for silent, with the intake gone."""
    acme = await house.client()
    house.mood.is_queue_silent = house.intake.is_down = True

    due = [await acme.post("/v1/jobs", a_job(house.world, schedule={"runAt": house.world.text(0)})) for _ in range(3)]
    later = await acme.post("/v1/jobs", a_job(house.world))

    assert [got.status for got in (*due, later)] == [201] * 4
    assert not house.api.known_keys.silence.lasts(house.world.clock)
    assert "stale" not in (await acme.get(later.headers["Location"])).json


@pytest.mark.sem("SEM-INTAKE-1", "SEM-INTAKE-3")
async def test_a_store_that_throttles_is_asked_by_everybody(house: House) -> None:
    """What it put off for all its time is accepted, as ever; nobody goes past the store for it."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.puts_off = True
    put_off = [await acme.post("/v1/jobs", a_job(house.world)) for _ in range(3)]
    assert [got.status for got in put_off] == [202] * 3
    assert not house.api.known_keys.silence.lasts(house.world.clock)
    house.mood.puts_off = False

    assert (await acme.post("/v1/jobs", a_job(house.world))).status == 201


@pytest.mark.sem("SEM-INTAKE-3")
async def test_where_the_intake_is_gone_the_store_is_asked_though_it_was_silent(house: House) -> None:
    """It may be back; only if it is not, is there nobody to accept anything."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    await acme.post("/v1/jobs", a_job(house.world))
    await acme.post("/v1/jobs", a_job(house.world))
    assert house.api.known_keys.silence.lasts(house.world.clock)
    house.mood.is_down, house.intake.is_down = False, True

    assert (await acme.post("/v1/jobs", a_job(house.world))).status == 201


@pytest.mark.sem("SEM-INTAKE-1")
async def test_what_is_accepted_becomes_the_job_of_that_id(house: House) -> None:
    """202 with the id; after the outage it lands under it, and runs at its time."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True

    got = await acme.post("/v1/jobs", a_job(house.world))

    assert (got.status, got.json["status"]) == (202, "accepted")
    assert got.headers["Location"] == f"/v1/jobs/{got.json['jobId']}"
    assert int(got.headers["Retry-After"]) > 0
    assert (await acme.get(got.headers["Location"])).code == "pending"
    house.mood.is_down = False
    assert (await acme.get(got.headers["Location"])).code == "pending"
    assert (await acme.send("DELETE", got.headers["Location"])).code == "pending"
    assert (await (await house.client("rival")).get(got.headers["Location"])).code == "not_found"
    assert await house.land_all() == [True]
    assert (await acme.get(got.headers["Location"])).json["jobId"] == got.json["jobId"]
    await house.world.drain()
    assert (await house.world.only_execution()).state is State.SUCCEEDED


@pytest.mark.sem("SEM-INTAKE-1", "SEM-INTAKE-2")
@pytest.mark.parametrize("copies", [1, 2, 3])
async def test_a_repeat_landing_and_a_lost_reply_make_one_job(house: House, copies: int) -> None:
    """Accepted twice by two processes, applied unanswered, delivered up to six times, and sent once more after it."""
    acme = await house.client()
    other = at_another(acme, house.another())
    for one in (acme, other):
        await one.get("/v1/me")
    house.intake.copies = copies
    house.mood.is_down = True
    body = a_job(house.world, name="nightly")
    first = await acme.post("/v1/jobs", body, idempotency_key="k")
    house.mood.applies_writes = True
    again = await other.post("/v1/jobs", body, idempotency_key="k")
    await house.recover()

    landed = await house.land_all()
    known = await other.post("/v1/jobs", body, idempotency_key="k")

    assert [first.status, again.status, known.status] == [202, 202, 201]
    assert landed == [True] * (2 * copies)
    assert {got.json["jobId"] for got in (first, again, known)} == {(await house.world.heads())[0].job_id}
    assert len(await house.world.heads()) == 1


@pytest.mark.sem("SEM-INTAKE-2")
async def test_a_repeat_that_overtakes_the_landing_has_the_same_job(house: House) -> None:
    """The client asks again when the store is back: 201 with the id that it was told; the landing then finds it."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    body = a_job(house.world)
    told = await acme.post("/v1/jobs", body, idempotency_key="k")
    await house.recover()

    made = await acme.post("/v1/jobs", body, idempotency_key="k")

    assert (made.status, made.json["jobId"]) == (201, told.json["jobId"])
    edited = await acme.send("PATCH", f"/v1/jobs/{told.json['jobId']}", {"description": "later"}, if_match="*")
    assert edited.status == 200
    assert await house.land_all() == [True]
    assert (await acme.get(f"/v1/jobs/{told.json['jobId']}")).json["description"] == "later"


@pytest.mark.sem("SEM-INTAKE-1")
async def test_other_keys_bodies_and_tenants_have_other_ids(house: House) -> None:
    """Nobody can be told the id of another's job, nor foretell one without the installation's secret."""
    acme, rival = await house.client(), await house.client("rival")
    elsewhere = at_another(acme, house.another(page_secret=b"another installation's"))
    for one in (acme, rival, elsewhere):
        await one.get("/v1/me")
    house.mood.is_down = True
    body, other = a_job(house.world), a_job(house.world, priority="low")

    told = [
        await acme.post("/v1/jobs", body, idempotency_key="k"),
        await acme.post("/v1/jobs", body, idempotency_key="l"),
        await acme.post("/v1/jobs", other, idempotency_key="k"),
        await rival.post("/v1/jobs", body, idempotency_key="k"),
        await elsewhere.post("/v1/jobs", body, idempotency_key="k"),
    ]

    assert len({got.json["jobId"] for got in told}) == len(told)


@pytest.mark.sem("SEM-INTAKE-1")
async def test_what_cannot_be_kept_is_not_acknowledged(house: House) -> None:
    """An intake that is down as well, and a body that is too large for it, are a 503 as without one."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    large = await acme.post("/v1/jobs", a_job(house.world, payload="ü" * 120_000))
    house.intake.is_down = True

    small = await acme.post("/v1/jobs", a_job(house.world))

    assert [got.status for got in (large, small)] == [503, 503]
    assert house.intake.waiting == []


@pytest.mark.sem("SEM-INTAKE-1", "SEM-API-1")
async def test_a_body_that_is_wrong_by_itself_is_refused_at_once(house: House) -> None:
    """Shapes are looked at before the store: nothing of it is accepted. Other rules wait for a store that answers."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True

    shape = await acme.post("/v1/jobs", {"schedule": {"cron": 5}, "target": {}})
    rule = await acme.post("/v1/jobs", a_job(house.world, schedule={"cron": "61 * * * *"}))

    assert (shape.status, rule.status) == (422, 503)
    assert house.intake.waiting == []


@pytest.mark.sem("SEM-INTAKE-2")
async def test_a_key_that_is_used_again_after_its_record_was_forgotten_makes_another_job(house: House) -> None:
    """Three days later the same request is a new one, as without an intake; its job has an id of its own."""
    acme = await house.client()
    body = a_job(house.world, schedule={"every": "PT1H"})
    first = await acme.post("/v1/jobs", body, idempotency_key="k")
    house.world.clock.advance(3 * 86_400_000)

    again = await acme.post("/v1/jobs", body, idempotency_key="k")

    assert [first.status, again.status] == [201, 201]
    assert first.json["jobId"] != again.json["jobId"]
    assert len(await house.world.heads()) == 2


@pytest.mark.sem("SEM-INTAKE-1", "SEM-INTAKE-2")
async def test_what_is_accepted_under_a_key_that_was_forgotten_lands_as_another_job(house: House) -> None:
    """The old job is no sign that it has landed; the new one has an id of its own, and comes into being once."""
    acme = await house.client()
    body = a_job(house.world, schedule={"every": "PT1H"})
    old = await acme.post("/v1/jobs", body, idempotency_key="k")
    house.world.clock.advance(3 * 86_400_000)
    await acme.get("/v1/me")
    house.mood.is_down = True
    told = await acme.post("/v1/jobs", body, idempotency_key="k")
    house.intake.waiting *= 2
    waiting = list(house.intake.waiting)
    await house.recover()

    assert await house.land_all() == [True, True]
    assert len(await house.world.heads()) == 2
    known = await acme.post("/v1/jobs", body, idempotency_key="k")
    assert "Idempotent-Replayed" in known.headers
    house.world.clock.advance(3 * 86_400_000)
    house.intake.waiting = waiting
    assert await house.land_all() == [True, True]

    assert (told.status, known.status, house.intake.refused) == (202, 201, [])
    assert known.json["jobId"] != old.json["jobId"]
    assert {head.job_id for head in await house.world.heads()} == {old.json["jobId"], known.json["jobId"]}


@pytest.mark.sem("SEM-INTAKE-2")
async def test_a_repeat_under_a_forgotten_key_that_overtakes_the_landing_has_the_only_new_job(house: House) -> None:
    """The client asked again first, and knows its job's id: the landing finds that, and nothing is set aside."""
    acme = await house.client()
    body = a_job(house.world, schedule={"every": "PT1H"})
    old = await acme.post("/v1/jobs", body, idempotency_key="k")
    house.world.clock.advance(3 * 86_400_000)
    await acme.get("/v1/me")
    house.mood.is_down = True
    await acme.post("/v1/jobs", body, idempotency_key="k")
    await house.recover()
    new = await acme.post("/v1/jobs", body, idempotency_key="k")

    assert await house.land_all() == [True]

    assert house.intake.refused == []
    assert {head.job_id for head in await house.world.heads()} == {old.json["jobId"], new.json["jobId"]}


@pytest.mark.sem("SEM-INTAKE-1", "SEM-CATCHUP-1")
async def test_what_was_accepted_counts_from_then(house: House) -> None:
    """Landed ten minutes late: created when it was accepted; its one-off, due meanwhile, runs, and its record holds."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    began = house.world.clock.now()
    body = a_job(house.world)
    told = await acme.post("/v1/jobs", body, idempotency_key="k")
    await house.world.clock.sleep_ms(600_000)
    house.mood.is_down = False

    assert await house.land_all() == [True]
    await house.world.drain()

    head = await house.world.head(told.json["jobId"])
    assert began <= head.created_at <= Instant(began + 10_000)
    assert head.status is JobStatus.ENDED
    assert (await house.world.only_execution()).state is State.SUCCEEDED
    known = await acme.post("/v1/jobs", body, idempotency_key="k")  # its runAt is long over
    assert (known.status, known.json["jobId"]) == (201, told.json["jobId"])


@pytest.mark.sem("SEM-INTAKE-2")
async def test_what_lands_days_late_is_one_job_with_its_repeats(house: House) -> None:
    """Redriven on the third day: its record counts from then, and a repeat after it has the job that has landed."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    body = a_job(house.world, name="nightly")
    told = await acme.post("/v1/jobs", body, idempotency_key="k")
    house.world.clock.advance(3 * 86_400_000)
    await house.recover()

    assert await house.land_all() == [True]
    house.world.clock.advance(86_400_000)
    known = await acme.post("/v1/jobs", body, idempotency_key="k")

    assert (known.status, known.json["jobId"]) == (201, told.json["jobId"])
    assert [head.job_id for head in await house.world.heads()] == [told.json["jobId"]]


@pytest.mark.sem("SEM-INTAKE-1")
async def test_a_repeat_whose_job_has_another_id_than_it_was_told_is_set_aside_with_that(house: House) -> None:
    """The job was made before there was an intake, so under an id of chance; its repeat, in an outage, was told one."""
    acme = await house.client()
    body = a_job(house.world)
    before = at_another(acme, house.another(intake=None))
    made = await before.post("/v1/jobs", body, idempotency_key="k")
    await acme.get("/v1/me")
    house.mood.is_down = True
    told = await acme.post("/v1/jobs", body, idempotency_key="k")
    await house.recover()

    assert await house.land_all() == [True]

    ((set_aside, refusal),) = house.intake.refused
    assert (told.status, set_aside.job_id) == (202, told.json["jobId"])
    assert told.json["jobId"] != made.json["jobId"]
    assert made.json["jobId"] in refusal.detail
    assert [head.job_id for head in await house.world.heads()] == [made.json["jobId"]]


@pytest.mark.sem("SEM-INTAKE-1")
async def test_what_is_refused_as_it_lands_is_set_aside_and_a_repeat_says_why(house: House) -> None:
    """Two accepted jobs of one name: one lands; the other's refusal is what its client gets by asking again."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    body = a_job(house.world, name="nightly")
    told = [await acme.post("/v1/jobs", body, idempotency_key=key) for key in ("a", "b")]
    await house.recover()

    assert await house.land_all() == [True, True]

    ((set_aside, refusal),) = house.intake.refused
    assert (set_aside.job_id, refusal.code) == (told[1].json["jobId"], Code.NAME_TAKEN)
    assert house.world.telemetry.counts[EventName.SUBMISSION_REFUSED] == 1
    repeats = [await acme.post("/v1/jobs", body, idempotency_key=key) for key in ("a", "b")]
    assert [got.status for got in repeats] == [201, 409]
    assert (repeats[0].json["jobId"], repeats[1].code) == (told[0].json["jobId"], "name_taken")


@pytest.mark.sem("SEM-INTAKE-1", "SEM-TENANT-2")
@pytest.mark.parametrize(
    ("ended_after_ms", "lands"), [(None, False), (0, False), (-1, True)], ids=["under-way", "gone", "another-since"]
)
async def test_what_a_deleted_tenant_had_asked_for_is_set_aside(
    house: House, ended_after_ms: int | None, *, lands: bool
) -> None:
    """While it is deleted, and what it asked for before it was gone; a tenant that came later has its jobs."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    told = await acme.post("/v1/jobs", a_job(house.world))
    await house.recover()
    asked_at = house.intake.waiting[0].asked_at
    ended_at = None if ended_after_ms is None else Instant(asked_at + ended_after_ms)

    async def deletion_of(tenant_id: TenantId) -> Deletion | None:
        return Deletion(tenant_id=tenant_id, asked_at=Instant(asked_at - 60_000), ended_at=ended_at)

    arrived = Arrived(submission=house.intake.waiting[0], receipt="")
    assert await settle_arrival(house.api, house.intake, arrived, deletion_of=deletion_of)

    assert [head.job_id for head in await house.world.heads()] == ([told.json["jobId"]] if lands else [])
    assert [refusal.code for _, refusal in house.intake.refused] == ([] if lands else [Code.FORBIDDEN])


@pytest.mark.sem("SEM-INTAKE-2")
@pytest.mark.parametrize("applies_writes", [False, True])
async def test_what_meets_a_store_that_is_still_down_comes_again(house: House, *, applies_writes: bool) -> None:
    """Nothing is set aside for an outage, and a landing whose reply was lost finds its job the next time."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    told = await acme.post("/v1/jobs", a_job(house.world))
    house.mood.applies_writes = applies_writes

    assert await house.land_all() == [False]
    house.mood.is_down = False
    assert await house.land_all() == [True]

    assert house.intake.refused == []
    assert [head.job_id for head in await house.world.heads()] == [told.json["jobId"]]


@pytest.mark.sem("SEM-INTAKE-2")
async def test_a_landing_that_dies_or_meets_another_lands_once(house: House) -> None:
    """The transaction was applied and its reply lost, and two functions land the same message at the same time."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    told = await acme.post("/v1/jobs", a_job(house.world, name="nightly"))
    submission = house.intake.waiting[0]
    house.intake.waiting = [submission, replace(submission, asked_at=Instant(submission.asked_at + 1))] * 2
    house.mood.is_down = False

    landed = await house.land_all_at_once()

    assert {refusal is None or refusal.retryable for refusal in landed} == {True}
    assert [head.job_id for head in await house.world.heads()] == [told.json["jobId"]]
