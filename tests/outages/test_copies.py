"""Is a status shown while the store does not answer, marked as what it is, and to its tenant alone?"""

import asyncio

import pytest

from tests.outages.house import House, a_job, at_another, silenced, without_marks
from tests.support.builders import an_id
from tests.support.clocks import ManualClock
from tickwright.adapters.cache.memory import MemoryStatusCache
from tickwright.domain.events import EventName
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.limits import COPIES_MAX, COPY_S_MAX, STORE_PATIENCE_MS, STORE_RESTS_MS
from tickwright.ports.status_cache import Copy, Place


@pytest.mark.sem("SEM-STALE-1")
@pytest.mark.parametrize("how", ["is_down", "is_silent"])
async def test_a_status_is_shown_for_ten_minutes_of_an_outage(house: House, how: str) -> None:
    """A job and its run, as they were shown last, with the instant of that; the control answers 503."""
    acme = await house.client()
    job = (await acme.post("/v1/jobs", a_job(house.world))).json
    execution = (await acme.post(f"/v1/jobs/{job['jobId']}/run")).json
    paths = [f"/v1/jobs/{job['jobId']}", f"/v1/executions/{execution['executionId']}"]
    before = [await acme.get(path) for path in paths]
    as_of = to_rfc3339(house.world.clock.now())
    setattr(house.mood, how, True)

    for _ in range(10):
        await house.world.clock.sleep_ms(60_000)
        during = [await acme.get(path) for path in paths]
        for was, got in zip(before, during, strict=True):
            assert (got.status, got.json["stale"], got.json["asOf"]) == (200, True, as_of)
            assert without_marks(got) == {name: was.json[name] for name in was.json if name != "etag"}
            assert (got.headers["Warning"], got.headers["Cache-Control"]) == ('110 - "Response is Stale"', "no-store")
            assert int(got.headers["Age"]) >= 60

    house.mood.is_silent, house.mood.is_down = False, True
    assert (await at_another(acme, silenced(house.api)).get(paths[0])).status == 503


@pytest.mark.sem("SEM-STALE-1")
async def test_while_the_store_answers_no_copy_is_shown(house: House) -> None:
    """What another process has changed is seen at once, and a second after an outage as well."""
    acme = await house.client()
    job = (await acme.post("/v1/jobs", a_job(house.world))).json
    path = f"/v1/jobs/{job['jobId']}"
    await acme.get(path)
    other = at_another(acme, house.another())
    assert (await other.post(f"{path}/pause")).status == 200

    assert (await acme.get(path)).json["status"] == "PAUSED"

    house.mood.is_down = True
    assert (await acme.get(path)).json["stale"]
    house.mood.is_down = False
    assert (await other.post(f"{path}/resume")).status == 200
    await house.world.clock.sleep_ms(STORE_RESTS_MS)
    after = await acme.get(path)
    assert (after.json["status"], "stale" in after.json) == ("ACTIVE", False)


@pytest.mark.sem("SEM-STALE-1", "SEM-STALE-4")
async def test_a_store_that_throttles_is_not_silent(house: House) -> None:
    """Whoever is put off has a copy of what he asked for; everybody after that has the store's own answer."""
    acme = await house.client()
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    house.mood.puts_off = True
    for _ in range(3):
        assert (await acme.get(path)).json["stale"]
        await house.world.clock.sleep_ms(STORE_RESTS_MS)
    assert not house.api.known_keys.silence.lasts(house.world.clock)
    assert (await at_another(acme, silenced(house.api)).get(path)).status == 503
    house.mood.puts_off = False

    assert "stale" not in (await acme.get(path)).json


@pytest.mark.sem("SEM-STALE-1")
async def test_whoever_asks_for_what_is_not_there_keeps_no_copy_in_use(house: House) -> None:
    """The store is back, and the first to ask it are refused: the next one is shown what is, not a copy."""
    acme = await house.client()
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    house.mood.is_down = True
    assert (await acme.get(path)).json["stale"]
    house.mood.is_down = False

    for _ in range(5):
        await house.world.clock.sleep_ms(STORE_RESTS_MS)
        assert (await acme.get(f"/v1/jobs/{an_id(77)}")).status == 404
        assert "stale" not in (await acme.get(path)).json


@pytest.mark.sem("SEM-STALE-1")
async def test_a_silent_store_holds_one_request_of_a_process_at_a_time(house: House) -> None:
    """Of a hundred who look in the same second one waits for the store; the others are answered at once."""
    acme = await house.client()
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    house.mood.is_silent = True
    assert (await acme.get(path)).json["stale"]  # this one has noticed; and its key was looked for as well
    await house.world.clock.sleep_ms(STORE_RESTS_MS)
    began_ms, asked = house.world.clock.monotonic_ms(), house.mood.asked

    many = asyncio.gather(*(acme.get(path) for _ in range(100)))

    assert {got.status for got in await many} == {200}
    assert house.mood.asked - asked <= 2  # for a key, and for the job
    assert house.world.clock.monotonic_ms() - began_ms <= 2 * STORE_PATIENCE_MS


@pytest.mark.sem("SEM-STALE-2")
async def test_no_copy_is_shown_to_another_tenant_or_without_the_scope(house: House) -> None:
    """Neither while the store answers nor while it does not; an id of another's is not even said to be pending."""
    acme, rival = await house.client(), await house.client("rival")
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    assert [(await one.get(path)).status for one in (acme, rival)] == [200, 404]
    house.mood.is_down = True

    assert (await acme.get(path)).status == 200
    assert (await rival.get(path)).status == 503


@pytest.mark.sem("SEM-STALE-2", "SEM-SECRET-1")
async def test_a_copy_holds_no_secret(house: House) -> None:
    """It is made of what was shown."""
    acme = await house.client()
    body = a_job(house.world, payload={"token": "hunter2-hunter2"}, secrets=["/payload/token"])
    made = await acme.post("/v1/jobs", body)
    house.mood.is_down = True

    got = await acme.get(f"/v1/jobs/{made.json['jobId']}")

    assert (got.json["stale"], got.json["payload"]) == (True, {"token": "********"})
    assert "hunter2" not in str(got.json)


@pytest.mark.sem("SEM-STALE-2")
async def test_what_would_be_and_what_was_are_no_copies(house: House) -> None:
    """Neither an edit that is only looked at, nor the answer to a repeat, nor a refusal is shown as the status."""
    acme = await house.client()
    body = a_job(house.world)
    job = (await acme.post("/v1/jobs", body, idempotency_key="k")).json
    path = f"/v1/jobs/{job['jobId']}"
    paused = await acme.post(f"{path}/pause")
    edited = a_job(house.world, description="looked at")
    looked = await acme.send("PUT", f"{path}?validateOnly=true", edited, if_match=paused.json["etag"])
    assert (looked.status, looked.json["job"]["description"]) == (200, "looked at")
    assert (await acme.post("/v1/jobs", body, idempotency_key="k")).headers["Idempotent-Replayed"] == "true"
    assert (await acme.send("PUT", path, body, if_match='"99.0"')).status == 412
    house.mood.is_down = True

    got = await acme.get(path)

    assert (got.json["status"], got.json["version"], got.json["description"]) == ("PAUSED", 2, None)


@pytest.mark.sem("SEM-STALE-3")
async def test_no_edit_is_made_from_a_stale_answer(house: House) -> None:
    """Its ETag matches nothing, whatever the version is; and who has the current one is not told that it is current."""
    acme = await house.client()
    job = (await acme.post("/v1/jobs", a_job(house.world))).json
    path = f"/v1/jobs/{job['jobId']}"
    house.mood.is_down = True
    stale = await acme.get(path, if_none_match=job["etag"])
    assert (stale.status, stale.json["stale"]) == (200, True)
    assert (await acme.get(path, if_none_match=stale.headers["ETag"])).status == 200
    house.mood.is_down = False

    for tag in (stale.json["etag"], stale.headers["ETag"]):
        refused = await acme.send("PATCH", path, {"description": "from a copy"}, if_match=tag)
        assert (refused.status, refused.code) == (412, "version_conflict")


@pytest.mark.sem("SEM-STALE-2")
async def test_a_copy_is_forgotten_after_a_quarter_of_an_hour(house: House) -> None:
    """Then the honest answer is that nobody knows."""
    acme = await house.client()
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    house.mood.is_down = True
    house.world.clock.advance(COPY_S_MAX * 1_000)
    assert (await acme.get(path)).status == 200

    house.world.clock.advance(1)

    assert (await acme.get(path)).status == 503


@pytest.mark.sem("SEM-STALE-1", "SEM-STALE-2")
@pytest.mark.parametrize("by_ms", [-3_600_000, 600_000])
async def test_a_wall_clock_that_steps_makes_no_copy_older_or_younger(house: House, by_ms: int) -> None:
    """A copy is not lost for it, newer ones still take its place, and no age is negative."""
    acme = await house.client()
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    clock = house.world.clock
    assert isinstance(clock, ManualClock)
    clock.set(Instant(clock.now() + by_ms))
    assert (await acme.post(f"{path}/pause")).status == 200
    house.mood.is_down = True

    got = await acme.get(path)

    assert (got.json["status"], got.headers["Age"]) == ("PAUSED", "0")
    clock.set(Instant(clock.now() - 3_600_000))
    assert (await acme.get(path)).headers["Age"] == "0"


@pytest.mark.sem("SEM-STALE-2")
@pytest.mark.parametrize("size", [0, 400_000], ids=["many", "large"])
async def test_a_tenant_that_looks_at_much_drives_out_no_copy_of_another(house: House, size: int) -> None:
    """It forgets its own: each has a share of the process's memory."""
    cache = MemoryStatusCache(house.world.clock)
    quiet = Place(tenant_id=TenantId("quiet"), path="/v1/jobs/one")
    await cache.put(quiet, Copy(body=b"{}", as_of=house.world.clock.now()))
    count = 100 if size else COPIES_MAX + 1
    loud = [Place(tenant_id=TenantId("loud"), path=f"/v1/jobs/{number}") for number in range(count)]

    for place in loud:
        await cache.put(place, Copy(body=b"x" * size, as_of=house.world.clock.now()))

    assert await cache.get(quiet) is not None
    assert await cache.get(loud[0]) is None
    assert await cache.get(loud[-1]) is not None


@pytest.mark.sem("SEM-STALE-2")
async def test_no_path_leads_to_the_mark_of_what_was_accepted(house: House) -> None:
    """The mark holds no answer: whoever asks for its old name is told what anybody is who asks for nothing."""
    acme = await house.client()
    await acme.get("/v1/me")
    house.mood.is_down = True
    told = await acme.post("/v1/jobs", a_job(house.world))

    assert (await acme.get(f"/v1/jobs/{told.json['jobId']}#accepted")).status in {404, 503}
    assert (await acme.get(told.headers["Location"])).code == "pending"


@pytest.mark.sem("SEM-EVENT-1")
async def test_each_copy_that_is_shown_is_noted_with_its_age(house: House) -> None:
    """So that an operator sees that people look at copies, and how old they are."""
    acme = await house.client()
    path = f"/v1/jobs/{(await acme.post('/v1/jobs', a_job(house.world))).json['jobId']}"
    house.mood.is_down = True
    house.world.clock.advance(7_000)

    await acme.get(path)

    (noted,) = [one for one in house.world.telemetry.happenings if one.name is EventName.COPY_SHOWN]
    assert noted.measured == {"ageMs": 7_000.0}
