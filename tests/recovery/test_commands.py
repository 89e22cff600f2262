"""The operator's commands on a tenant that is being deleted, or was: played to their end, on a clock that jumps."""

import io
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, cast

import pytest

from tests.recovery.places import Installations, Place
from tests.recovery.test_deletion import furnished, passed, submitted
from tests.recovery.test_moving import exported
from tests.support.builders import TENANT
from tests.support.steps import MINUTE
from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.tenants import Scope
from tickwright.operator.__main__ import parser
from tickwright.operator.deletions import is_being_deleted
from tickwright.operator.keys import BEING_DELETED, UNREADABLE
from tickwright.operator.tenants import LEFT_OUT
from tickwright.ports.whole import Whole
from tickwright.services.delete_tenant import Stage
from tickwright.services.keys import key_id, keys_of
from tickwright.services.kit import Kit
from tickwright.wiring.operator import Installed

pytestmark = pytest.mark.sem("SEM-TENANT-2")
DELETE = ("tenants", "delete", "--really", TENANT)


class Later(Enum):
    """Of a version after this one."""

    SCOPE = "tenants:read"


@dataclass
class Found:
    """What a command needs of an installation."""

    kit: Kit
    whole: Whole

    def caller(self) -> str:
        """Somebody."""
        return "arn:aws:iam::123456789012:user/somebody"


async def done(place: Place, *words: str) -> int:
    """One command."""
    return await told(place, *words[:2], "--tenant", TENANT, *words[2:])


async def told(place: Place, *words: str) -> int:
    """One command, of all tenants unless one is named."""
    asked = parser().parse_args([*words[:2], "--stage", "s", *words[2:]])
    return int(await asked.command.does(cast("Installed", Found(place.world.kit, place.whole)), asked))


async def test_a_tenant_that_is_being_deleted_is_given_no_key(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next look would revoke it, and nobody would know."""
    place = installations.first
    await furnished(place, TENANT)
    before = await keys_of(place.world.kit, TENANT)
    await passed(place)

    status = await done(place, "keys", "make")

    said = capsys.readouterr()
    assert (status, said.out) == (BEING_DELETED, "")
    assert "being deleted" in said.err
    assert len(await keys_of(place.world.kit, TENANT)) == len(before)


async def test_a_key_that_was_made_as_a_deletion_began_is_told_to_nobody(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """It begins between the look and the write: the key is revoked at once."""
    place = installations.first

    class Begins:
        """A whole in which a deletion is begun after the first look."""

        looks = 0

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the whole
            return getattr(place.whole, name)

        async def deletion(self, tenant_id: str) -> object:
            self.looks += 1
            found = await place.whole.deletion(TENANT)
            if self.looks == 1:
                await passed(place)
            return found

    late = Place(place.world, cast("Whole", Begins()))

    status = await done(late, "keys", "make")

    now = place.world.clock.now()
    assert (status, capsys.readouterr().out) == (BEING_DELETED, "")
    assert [key.is_valid(now) for key in await keys_of(place.world.kit, TENANT)] == [False]


async def test_nothing_is_imported_into_a_tenant_that_is_being_deleted(
    installations: Installations, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made would go."""
    await furnished(installations.first, TENANT)
    lines = await exported(installations.first, with_secrets=True)
    place = installations.second
    await passed(place)
    before = await installations.stored(place)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))

    status = await done(place, "tenants", "import")

    said = capsys.readouterr()
    assert (status, said.out) == (LEFT_OUT, "")
    assert "being deleted" in said.err
    assert await installations.stored(place) == before


async def test_a_deletion_is_called_off_while_nothing_has_gone(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever carries it out finds that it is over; the tenant may have keys and jobs again."""
    place = installations.first
    await furnished(place, TENANT)
    begun = (await passed(place))[-1].asked_at

    status = await done(place, "tenants", "undelete")
    again = await done(place, "tenants", "undelete")
    made = await done(place, "keys", "make")
    job = await submitted(place, TENANT, schedule={"every": "PT1H"})
    place.world.clock.advance(120 * MINUTE)
    late = await passed(place, begun)

    assert (status, again, made) == (0, LEFT_OUT, 0)
    assert "no deletion of it is under way" in capsys.readouterr().err
    assert [progress.stage for progress in late] == [Stage.OVER]
    assert await place.world.kit.store.head(job.head.job_id) == job.head


async def test_a_deletion_is_not_called_off_once_rows_go(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody could say what is left."""
    place = installations.first
    await furnished(place, TENANT)
    resting = (await passed(place))[-1]
    resting = (await passed(place, resting.asked_at))[-1]
    assert resting.until is not None
    place.world.clock.advance_to(resting.until)
    noted = place.whole.put_deletion

    async def dies(change: object) -> bool:
        await noted(cast("Any", change))
        raise KeyboardInterrupt

    setattr(place.whole, "put_deletion", dies)  # noqa: B010 - of one object
    with pytest.raises(KeyboardInterrupt):
        await passed(place, resting.asked_at)

    status = await done(place, "tenants", "undelete")

    assert (status, "its rows go already" in capsys.readouterr().err) == (LEFT_OUT, True)
    assert await is_being_deleted(cast("Installed", Found(place.world.kit, place.whole)), TENANT)


async def test_a_key_that_came_nevertheless_is_revoked_before_anything_of_its_tenant_goes(
    installations: Installations,
) -> None:
    """From a program that does not look: the rest begins anew, and only then the records go."""
    place = installations.first
    await furnished(place, TENANT)
    resting = (await passed(place))[-1]
    resting = (await passed(place, resting.asked_at))[-1]
    assert resting.until is not None
    place.world.clock.advance_to(resting.until)

    class Late:
        """A whole in which a key comes at the last job that is removed."""

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the whole
            return getattr(whole, name)

        async def forget_job(self, *job: Any) -> None:  # noqa: ANN401 - as the whole
            await whole.forget_job(*job)
            await make_key(place.world.kit, TENANT, scopes=frozenset(Scope), label="late")

    whole, place.whole = place.whole, cast("Whole", Late())
    said = await passed(place, resting.asked_at)

    assert (said[-1].records, said[-1].until is not None) == (0, True)
    assert (await passed(place, resting.asked_at))[-1].keys == 3


async def test_the_command_waits_to_the_end_and_does_it_once(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """Repeated, it does nothing to whoever has the name since, unless that is said."""
    place = installations.first
    await furnished(place, TENANT)

    statuses = [await done(place, *DELETE)]
    job = await submitted(place, TENANT, schedule={"every": "PT1H"})
    statuses += [await done(place, *DELETE)]
    there = await place.world.kit.store.head(job.head.job_id)
    statuses += [await done(place, *DELETE, "--again")]

    assert statuses == [0, LEFT_OUT, 0]
    assert there == job.head
    assert await place.world.kit.store.head(job.head.job_id) is None
    said = capsys.readouterr()
    assert "Say --again" in said.err
    assert said.out.count("gone: ") == 2


async def test_a_list_of_tenants_says_which_are_being_deleted(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """And of all tenants' keys whose each is; neither says more of a key than its name."""
    place = installations.first
    await furnished(place, TENANT)
    secret, key = await make_key(place.world.kit, TenantId("globex"), scopes=frozenset(Scope), label="for reports")
    await passed(place)
    capsys.readouterr()

    listed = await told(place, "tenants", "list")
    tenants = capsys.readouterr().out
    listed_keys = await told(place, "keys", "list")
    keys = capsys.readouterr().out

    made = to_rfc3339(key.created_at)
    assert (listed, listed_keys) == (0, 0)
    rows = [line.split() for line in tenants.splitlines()]
    assert [row[:2] for row in rows] == [[TENANT, "being_deleted"], ["globex", "there"]]
    deletion = await place.whole.deletion(TENANT)
    assert deletion is not None
    assert rows[0][5] == to_rfc3339(deletion.asked_at)
    assert rows[1][2:] == ["1", "1", made, "-"]
    (line,) = [line for line in keys.splitlines() if line.startswith("globex")]
    assert line.split()[:5] == ["globex", key_id(key), "valid", made, "-"]
    assert len(keys.splitlines()) == int(rows[0][2]) + 1
    assert not any(part in tenants + keys for part in (secret, key.key_hash[:17]))


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
async def test_a_list_that_lacks_something_is_not_taken_for_a_whole_one(
    installations: Installations, capsys: pytest.CaptureFixture[str]
) -> None:
    """What another version has written is counted, and not named: its key holds the hash."""
    place = installations.first
    _, key = await make_key(place.world.kit, TENANT, scopes=frozenset(Scope), label="of another version")
    await place.world.kit.store.put_api_key(replace(key, scopes=frozenset({cast("Scope", Later.SCOPE)})))
    capsys.readouterr()

    statuses = [await told(place, *words) for words in (("tenants", "list"), ("keys", "list"))]

    said = capsys.readouterr()
    assert statuses == [UNREADABLE, UNREADABLE]
    assert said.err.count("1 records were not read") == 2
    assert key.key_hash not in said.err + said.out
