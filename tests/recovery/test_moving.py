"""A tenant is exported from one installation and imported into another, line by line."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.recovery.places import Installations, Place, embedded
from tests.recovery.test_deletion import OTHER, deleted, submitted
from tests.support.builders import TENANT, a_calendar
from tests.support.steps import HOUR, MINUTE
from tickwright.adapters.exchange import line_of, record_of
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.changes.heads import PutDefinition
from tickwright.domain.exports import FORMAT, Closing, JobExport, Opening
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, JobStatus
from tickwright.domain.outcomes import Refusal
from tickwright.domain.transitions import State
from tickwright.domain.webhooks import FIRST
from tickwright.ports.runner import Invocation
from tickwright.services import export_tenant as export_module
from tickwright.services.calendars import put_calendar
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.delete_tenant import Stage
from tickwright.services.export_tenant import export_tenant
from tickwright.services.import_tenant import Imported, import_record
from tickwright.services.pools import put_pool
from tickwright.services.run_now import run_now
from tickwright.services.webhook_secrets import rotate

SECRET = "kept-from-everybody-4711"


async def furnished(place: Place) -> None:
    """A tenant with two versions of a calendar and of a job, a rotated secret, a pool, and one job of each kind."""
    world = place.world
    kit = world.kit
    await put_pool(kit, TENANT, "gpu", "the big ones")
    holidays = a_calendar()
    for content in (holidays.content, replace(holidays.content, weekdays=("sun",))):
        assert not isinstance(await put_calendar(kit, TENANT, holidays.name, content, None), Refusal)
    for seen in (FIRST, FIRST + 1):
        assert not isinstance(await rotate(kit, b"a key", TENANT, seen=seen), Refusal)
    minutely = await submitted(place, TENANT, schedule={"every": "PT1M"}, name="minutely")
    await submitted(
        place,
        TENANT,
        schedule={"every": "PT1H", "calendars": ["holidays"]},
        payload={"card": SECRET},
        secrets=["/payload/card"],
    )
    paused = await submitted(place, TENANT, schedule={"every": "PT1H"}, name="paused")
    await pause_job(kit, TENANT, paused.head.job_id, None)
    once = await submitted(place, TENANT, schedule={"runAt": world.text(MINUTE)})
    assert once.head.next_run_at is not None
    await place.play(130)
    spec = world.spec(schedule={"every": "PT2M"}, name="minutely")
    assert not isinstance(await edit_job(kit, TENANT, minutely.head.job_id, spec, 1), Refusal)


async def exported(place: Place, *, with_secrets: bool) -> list[str]:
    """The lines of an export."""
    return [line_of(record) async for record in export_tenant(place.world.kit, TENANT, with_secrets=with_secrets)]


async def imported(place: Place, lines: list[str]) -> list[Imported | None]:
    """What came of each line."""
    return [await import_record(place.world.kit, TENANT, record_of(line)) for line in lines]


@pytest.mark.sem("SEM-TENANT-4")
async def test_what_was_exported_is_there_and_goes_on(installations: Installations) -> None:
    """The same ids, versions and calendars; ticks go on where they were, and none of before runs again."""
    first, second = installations.first, installations.second
    await furnished(first)
    lines = await exported(first, with_secrets=True)

    made = await imported(second, lines)
    await second.play(5 * 60)

    assert made.count(Imported.MADE) == len(lines) - 2 == 7
    assert await exported_jobs(second) == await exported_jobs(first)
    for name in ("calendars_of", "pools_of"):
        there = [await getattr(one.world.kit.store, name)(TENANT, limit=10) for one in (first, second)]
        assert [thing.name for thing in there[0].items] == [thing.name for thing in there[1].items] != []
    kits = (first.world.kit, second.world.kit)
    assert len({await kit.store.webhook_rotation(TENANT) for kit in kits}) == 1
    assert len({await kit.store.calendars(TENANT, ["holidays"]) == {} for kit in kits}) == 1
    before, since = await first.rows(), await second.rows()
    assert {row.state for row in since} == {State.SUCCEEDED}
    assert len(since) >= 2
    assert not {row.ref for row in before} & {row.ref for row in since}


async def exported_jobs(place: Place) -> list[tuple[object, ...]]:
    """Of each open job what may not change by a move."""
    records = [record async for record in export_tenant(place.world.kit, TENANT, with_secrets=True)]
    jobs = [record for record in records if isinstance(record, JobExport)]
    return [(job.head.job_id, job.head.version, job.head.status, job.head.listed_as, job.definitions) for job in jobs]


@pytest.mark.sem("SEM-TENANT-4")
async def test_an_import_that_is_cut_off_and_repeated_makes_nothing_twice(installations: Installations) -> None:
    """After every line in turn it begins anew; what has moved on since stays as it is."""
    first, second = installations.first, installations.second
    await furnished(first)
    lines = await exported(first, with_secrets=True)

    counts = [(await imported(second, lines[:end])).count(Imported.MADE) for end in range(1, len(lines) + 1)]
    await second.play(3 * 60)
    stored = await installations.stored(second)
    again = await imported(second, lines)

    assert sum(counts) == 7
    assert max(counts) == 1
    assert set(again) == {None, Imported.THERE}
    assert await installations.stored(second) == stored


@pytest.mark.sem("SEM-TENANT-4")
async def test_no_secret_leaves_unless_it_was_asked_for(installations: Installations) -> None:
    """A job that lacks one is imported paused, and runs once an edit has brought it."""
    first, second = installations.first, installations.second
    await furnished(first)
    lines = await exported(first, with_secrets=False)

    made = await imported(second, lines)

    assert SECRET not in "".join(lines)
    assert SECRET in "".join(await exported(first, with_secrets=True))
    assert made.count(Imported.PAUSED) == 1
    (line,) = [line for line, one in zip(lines, made, strict=True) if one is Imported.PAUSED]
    record = record_of(line)
    assert isinstance(record, JobExport)
    kit = second.world.kit
    head = await kit.store.head(record.head.job_id)
    assert head is not None
    assert (head.status, head.next_run_at) == (JobStatus.PAUSED, None)
    too_early = await resume_job(kit, TENANT, head.job_id, None)
    assert isinstance(too_early, Refusal)
    assert "without the values" in too_early.detail
    assert await run_now(kit, TENANT, head.job_id, None) == too_early
    assert [row for row in await second.rows() if row.job_id == head.job_id] == []
    spec = replace(record.definitions[-1].spec, payload=json.dumps({"card": SECRET}))
    await edit_job(kit, TENANT, head.job_id, spec, head.version)
    await resume_job(kit, TENANT, head.job_id, None)
    second.world.clock.advance(HOUR)
    await second.play(60)
    assert len([row for row in await second.rows() if row.job_id == head.job_id]) == 1


@pytest.mark.sem("SEM-TENANT-4")
@pytest.mark.parametrize("before_its_time", [True, False])
async def test_no_mask_comes_to_run_by_an_edit_that_waits(
    installations: Installations, *, before_its_time: bool
) -> None:
    """It alone names the secret: whether it has come to its time or not, neither version runs with masks."""
    first, second = installations.first, installations.second
    world = first.world
    job = await submitted(first, TENANT, schedule={"every": "PT1M"}, payload={"card": "shown", "token": SECRET})
    schedule, payload = {"every": "PT2M"}, {"card": SECRET, "token": SECRET}
    spec = world.spec(schedule=schedule, payload=payload, secrets=["/payload/card"])
    at = Instant(world.clock.now() + 10 * MINUTE)
    assert not isinstance(await edit_job(world.kit, TENANT, job.head.job_id, spec, 1, at), Refusal)
    await imported(second, await exported(first, with_secrets=False))
    kit = second.world.kit
    second.world.clock.advance(MINUTE if before_its_time else 20 * MINUTE)

    refused = [await resume_job(kit, TENANT, job.head.job_id, None), await run_now(kit, TENANT, job.head.job_id, None)]

    assert [isinstance(one, Refusal) and "without the values" in one.detail for one in refused] == [True, True]
    await second.play(5 * 60)
    assert await second.rows() == []
    for is_done in [True] if before_its_time else [False, True]:  # the edit that has come to its time counts first
        head = await kit.store.head(job.head.job_id)
        assert head is not None
        whole = await edit_job(kit, TENANT, job.head.job_id, spec, head.version, drops_waiting=True)
        assert isinstance(whole, Refusal) is not is_done
    assert not isinstance(await run_now(kit, TENANT, job.head.job_id, None), Refusal)
    assert not isinstance(await resume_job(kit, TENANT, job.head.job_id, None), Refusal)


@pytest.mark.sem("SEM-TENANT-4")
async def test_an_import_that_died_over_masks_lets_no_job_run_with_them(installations: Installations) -> None:
    """Its versions stand without a head: whatever is imported after, the job is paused until it has its secret."""
    first, second = installations.first, installations.second
    await furnished(first)
    (masks,) = [one for one in await jobs_exported(first, with_secrets=False) if one.lacks_secrets]
    (whole,) = [one for one in await jobs_exported(first, with_secrets=True) if one.head.job_id == masks.head.job_id]
    kit = second.world.kit
    for definition in masks.definitions:
        await kit.store.write(PutDefinition(definition=definition))

    came = await import_record(kit, TENANT, whole)

    head = await kit.store.head(whole.head.job_id)
    assert came is Imported.PAUSED
    assert head is not None
    assert (head.status, head.next_run_at) == (JobStatus.PAUSED, None)


async def test_a_job_is_not_imported_over_the_versions_of_another_import(installations: Installations) -> None:
    """They are not its own, and nobody may run them under its head: it is told."""
    first, second = installations.first, installations.second
    await furnished(first)
    export = (await jobs_exported(first, with_secrets=True))[0]
    other = replace(export.definitions[0], spec=replace(export.definitions[0].spec, payload='"another"'))
    kit = second.world.kit
    await kit.store.write(PutDefinition(definition=other))

    came = await import_record(kit, TENANT, export)

    assert came is Imported.DIFFERS
    assert await kit.store.head(export.head.job_id) is None


async def test_a_job_whose_id_is_another_tenants_is_not_said_to_be_there(installations: Installations) -> None:
    """A copy of an export under another name: nothing of the job that is there is changed, and it is told."""
    first = installations.first
    await furnished(first)
    kit = first.world.kit
    (export, *_) = await jobs_exported(first, with_secrets=True)
    versions = tuple(replace(one, tenant_id=OTHER) for one in export.definitions)
    renamed = replace(export, head=replace(export.head, tenant_id=OTHER), definitions=versions)
    before = await installations.stored(first)

    came = [await import_record(kit, tenant_id, one) for tenant_id, one in ((OTHER, renamed), (TENANT, export))]

    assert came == [Imported.ANOTHERS, Imported.THERE]
    assert await installations.stored(first) == before


async def jobs_exported(place: Place, *, with_secrets: bool) -> list[JobExport]:
    """The jobs of an export."""
    records = map(record_of, await exported(place, with_secrets=with_secrets))
    return [record for record in records if isinstance(record, JobExport)]


@pytest.mark.sem("SEM-TENANT-4")
async def test_a_calendar_that_stands_gets_no_version_from_an_import(installations: Installations) -> None:
    """So its tenant may go on to write it, however far the exported one had come meanwhile."""
    first, second = installations.first, installations.second
    await furnished(first)
    await imported(second, await exported(first, with_secrets=True))
    content = replace(a_calendar().content, weekdays=("mon",))
    for _ in range(2):
        content = replace(content, weekdays=(*content.weekdays, "tue"))
        assert not isinstance(await put_calendar(first.world.kit, TENANT, "holidays", content, None), Refusal)
    await imported(second, await exported(first, with_secrets=True))

    put = await put_calendar(second.world.kit, TENANT, "holidays", content, None)

    assert not isinstance(put, Refusal)
    kept = await second.world.kit.store.calendar_versions(TENANT, "holidays", [1, 2, 3, 4])
    assert sorted(kept) == [1, 2, 3]


@pytest.mark.sem("SEM-TENANT-4", "SEM-TENANT-3")
async def test_a_tenant_that_comes_back_runs_by_its_versions_of_now(installations: Installations) -> None:
    """Whoever has run one of the same number here before, and lives still, remembers it no more."""
    here, there = installations.first, installations.second
    job_id = (await submitted(here, TENANT, schedule={"every": "PT1M"}, payload=1)).head.job_id
    await imported(there, await exported(here, with_secrets=True))
    await edited(here, job_id, "of here")
    await here.play(2 * 60)
    await edited(there, job_id, "of there")
    assert (await deleted(here))[-1].stage is Stage.GONE
    await imported(here, await exported(there, with_secrets=True))
    ran = list[str]()

    async def runs(invocation: Invocation) -> UserResult:
        ran.append(json.loads(invocation.definition.spec.payload))
        return Success(result=None)

    here.world.runner.does = runs

    await here.play(3 * 60)

    assert set(ran) == {"of there"}
    definition = await here.world.kit.store.definition(job_id, 2)
    assert definition is not None
    assert json.loads(definition.spec.payload) == "of there"


async def edited(place: Place, job_id: JobId, payload: object) -> None:
    """Another payload."""
    kit = place.world.kit
    head = await kit.store.head(job_id)
    assert head is not None
    definition = await kit.store.definition(job_id, head.definition_version)
    assert definition is not None
    spec = replace(definition.spec, payload=json.dumps(payload))
    assert not isinstance(await edit_job(kit, TENANT, job_id, spec, head.version), Refusal)


async def test_a_name_that_another_job_has_keeps_an_exported_job_out(installations: Installations) -> None:
    """It is told, and nothing of it is written; the others are imported."""
    first, second = installations.first, installations.second
    await furnished(first)
    mine = await submitted(second, TENANT, schedule={"every": "PT1H"}, name="minutely")

    made = await imported(second, await exported(first, with_secrets=True))

    assert made.count(Imported.NAME_TAKEN) == 1
    jobs = (await second.world.kit.store.jobs_eventually(TENANT, limit=100)).items
    assert len(jobs) == 3
    assert mine.head.job_id in jobs


@pytest.mark.parametrize(
    "line",
    [
        '["job"]',
        '{"kind":"spell"}',
        '{"kind":[]}',
        "{",
        "[" * 100_000,
        f'{{"kind":"tenant","tenant_id":"a","exported_at":1,"form":{FORMAT + 1}}}',
    ],
)
def test_a_line_of_something_else_is_refused(line: str) -> None:
    """In words, before anything is written."""
    with pytest.raises(ValueError, match=r"\w"):
        record_of(line)


async def test_no_record_of_an_import_reaches_another_tenant(installations: Installations) -> None:
    """Each line of one tenant's export is refused for another, and nothing of it is written."""
    first, second = installations.first, installations.second
    await furnished(first)
    lines = await exported(first, with_secrets=True)
    before = await installations.stored(second)

    made = [await import_record(second.world.kit, OTHER, record_of(line)) for line in lines]

    assert made == [Imported.FOREIGN] * (len(lines) - 1) + [None]
    assert await installations.stored(second) == before


def _with_version(export: JobExport, changed: Callable[[Definition], Definition]) -> JobExport:
    return replace(export, definitions=tuple(map(changed, export.definitions)))


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(lambda one: replace(one, head=replace(one.head, tenant_id=OTHER)), id="the head of another's"),
        pytest.param(
            lambda one: _with_version(one, lambda was: replace(was, tenant_id=OTHER)), id="versions of another's"
        ),
        pytest.param(
            lambda one: _with_version(one, lambda was: replace(was, job_id=JobId("b" * 26))),
            id="versions of another job",
        ),
        pytest.param(
            lambda one: _with_version(one, lambda was: replace(was, version=9)), id="a version that is not counted"
        ),
        pytest.param(lambda one: replace(one, definitions=one.definitions * 2), id="a version twice"),
        pytest.param(lambda one: replace(one, definitions=()), id="no version at all"),
        pytest.param(
            lambda one: replace(one, head=replace(one.head, job_id=JobId("../victim"))), id="an id that is none"
        ),
    ],
)
async def test_a_job_that_does_not_hold_together_is_not_imported(forged: Callable[[JobExport], JobExport]) -> None:
    """Whichever of its parts names another tenant, job or version."""
    async with embedded() as made:
        await submitted(made.first, TENANT, schedule={"every": "PT1H"})
        lines = await exported(made.first, with_secrets=True)
        (export,) = [one for one in map(record_of, lines) if isinstance(one, JobExport)]
        before = await made.stored(made.second)

        came = await import_record(made.second.world.kit, TENANT, forged(export))

        assert came is Imported.FOREIGN
        assert await made.stored(made.second) == before


async def test_a_job_that_is_renamed_meanwhile_is_exported(
    installations: Installations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From behind the page that is in hand to before it: each job is in the export once."""
    monkeypatch.setattr(export_module, "_PAGE", 1)
    place = installations.first
    jobs = [await submitted(place, TENANT, schedule={"every": "PT1H"}, name=name) for name in ("middle", "zoo")]
    exported_ids = list[JobId]()

    async for record in export_tenant(place.world.kit, TENANT):
        if not isinstance(record, JobExport):
            continue
        if not exported_ids:
            spec = replace(jobs[1].definition.spec, name="ant")
            assert not isinstance(await edit_job(place.world.kit, TENANT, jobs[1].head.job_id, spec, 1), Refusal)
        exported_ids.append(record.head.job_id)

    assert exported_ids == [job.head.job_id for job in jobs]


@pytest.mark.parametrize(
    "forged",
    [
        lambda members: members | {"lacks_secrets": SECRET},
        lambda members: members | {"head": SECRET},
        lambda members: members | {"head": members["head"] | {"status": SECRET}},
        lambda members: members | {"definitions": [members["definitions"][0] | {"spec": [SECRET]}]},
        lambda members: members | {"head": members["head"] | {"held": 1, "listed_as": SECRET}},
    ],
)
async def test_nothing_of_a_line_is_told_that_cannot_be_read(forged: Callable[[Any], Any]) -> None:
    """It may hold secrets, and what is told goes to a terminal, or into somebody's log."""
    async with embedded() as made:
        await submitted(made.first, TENANT, schedule={"every": "PT1H"}, payload={"card": SECRET})
        (line,) = [line for line in await exported(made.first, with_secrets=True) if '"kind":"job"' in line]
    broken = json.dumps(forged(json.loads(line)))

    with pytest.raises(ValueError, match=r"\w") as refused:
        record_of(broken)

    assert SECRET not in str(refused.value)
    assert SECRET[:8] not in repr(refused.value)
    assert refused.value.__cause__ is None


async def test_an_export_says_how_many_records_it_has(installations: Installations) -> None:
    """So that one that was cut off is told from a whole one."""
    lines = await exported(installations.first, with_secrets=False)

    (opening, closing) = map(record_of, lines)

    assert isinstance(opening, Opening)
    assert closing == Closing(records=1)
