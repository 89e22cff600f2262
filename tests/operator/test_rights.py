"""What docs/deploy.md says that each of the operator's commands calls: is it what they call?

On one engine, each command once at least and the deletion to its end. Must not judge what the commands do.
"""

import asyncio
import io
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from botocore.session import get_session
from botocore.stub import Stubber

from tests.infra.recorded import rights_of
from tests.operator.conftest import STAGE
from tests.operator.test_intake import a_submission
from tests.support.builders import a_calendar
from tests.support.emulators.clients import aws_client
from tests.support.installation import Installation
from tests.tidy.tree import ROOT
from tickwright.adapters.aws.calls import Answer, Calls
from tickwright.domain import deletions
from tickwright.domain.deletions import REFUSED_AS
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import HashIdentity
from tickwright.operator.__main__ import COMMANDS, main
from tickwright.services.calendars import put_calendar
from tickwright.services.change_job import edit_job
from tickwright.services.kit import Kit
from tickwright.services.pools import put_pool
from tickwright.services.run_now import run_now
from tickwright.services.submit import RequestKey, Submitted, submit
from tickwright.services.webhook_secrets import rotate
from tickwright.wiring.aws import kit_from_env
from tickwright.wiring.intake import intake_from_env

Rights = set[tuple[str, str]]  # (of which table or queue, action)
TENANT = TenantId("furnished")
OF_IT = ("--tenant", TENANT)
DELETE = ("tenants", "delete", *OF_IT, "--really", TENANT, "--no-wait")
# In the order of the columns: a table, or what the page calls a queue of a role.
TABLES = ("jobs", "executions", "journal", "control")
QUEUES = {
    "intake": "QueueIntake",
    "intake-undelivered": "QueueIntakeUndelivered",
    "old": "the queue that is named",
    "PoolQueues": "pools",
}
# What a deletion does besides where a tick has just been decided: it reads its execution, or puts a tombstone for it.
MORE = {"tenants delete": {("executions", "PutItem"), ("executions", "GetItem")}}


@dataclass
class Recorder:
    """Commands, and what each has called; what is called between them is nobody's."""

    names: dict[str, str]
    used: dict[str, Rights] = field(default_factory=lambda: defaultdict(set))
    running: str = ""

    def note(self, operation: str, request: Mapping[str, Any]) -> None:
        """One call."""
        if self.running and operation == "batch_write_item":
            self.used[self.running] |= {(self.names[table], "BatchWriteItem") for table in request["RequestItems"]}
        elif self.running:
            rights = rights_of(operation, request, self.names)
            self.used[self.running] |= {(place, action.partition(":")[2]) for action, place in rights}

    def run(self, thing: str, action: str, *more: str) -> None:
        """One command."""
        self.running = f"{thing} {action}"
        main([thing, action, "--stage", STAGE, *more])
        self.running = ""


@pytest.fixture
def recorder(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Sees each call."""
    made = Recorder({name: role for role, name in {**installation.tables, **installation.queues}.items()})
    call = Calls.__call__

    async def noted(self: Calls, operation: str, request: Mapping[str, Any]) -> Answer:
        made.note(operation, request)
        return await call(self, operation, request)

    monkeypatch.setattr(Calls, "__call__", noted)
    return made


async def furnish(kit: Kit) -> None:
    """A tenant with one of everything: a job of two versions with a run, a calendar, a pool, a rotation."""
    calendar = a_calendar(tenant_id=TENANT)
    for seen in (None, 1):
        put = await put_calendar(kit, TENANT, calendar.name, replace(calendar.content, description=str(seen)), seen)
        assert not isinstance(put, Refusal)
    await put_pool(kit, TENANT, "gpu", None)
    await rotate(kit, b"k" * 32, TENANT, seen=0)
    start = to_rfc3339(Instant(kit.clock.now() + 3_600_000))
    body = {
        "name": "nightly",
        "schedule": {"every": "PT1H", "startAt": start},
        "target": {"type": "python", "handler": "echo"},
    }
    spec = read_spec(body, identity=HashIdentity(TENANT, "nightly"), now=kit.clock.now())
    made = await submit(kit, TENANT, spec, RequestKey(key="POST furnished", body_hash="a" * 64))
    assert isinstance(made, Submitted)
    edited = await edit_job(kit, TENANT, made.head.job_id, spec, if_match=made.head.version)
    assert not isinstance(edited, Refusal)
    assert not isinstance(await run_now(kit, TENANT, made.head.job_id, None), Refusal)


def called(
    installation: Installation,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> dict[str, Rights]:
    """All commands, and what each has called."""
    monkeypatch.setattr(deletions, "_REST_MS", 0)
    kit = kit_from_env(installation.environment)
    recorder.run("keys", "make", *OF_IT)
    capsys.readouterr()
    recorder.run("keys", "list", *OF_IT)
    recorder.run("keys", "revoke", *OF_IT, "--key", capsys.readouterr().out.split()[0])
    recorder.run("keys", "list")
    recorder.run("tenants", "list")
    asyncio.run(furnish(kit))
    capsys.readouterr()
    recorder.run("tenants", "export", *OF_IT)
    lines = capsys.readouterr().out
    recorder.run("recovery", "relist", "--restored-to", "2026-11-30T12:00:00Z")
    recorder.run("recovery", "deleted", "--old-stage", STAGE)
    for _ in range(3):
        recorder.run(*DELETE)
    assert "gone: " in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    recorder.run("tenants", "import", *OF_IT)
    assert capsys.readouterr().out.endswith(" made\n")
    recorder.run(*DELETE, "--again")
    recorder.run("tenants", "undelete", *OF_IT)
    _intake(installation, recorder)
    return recorder.used


def _intake(installation: Installation, recorder: Recorder) -> None:
    old = aws_client("sqs", installation.queue_endpoint).create_queue(QueueName="one-more-before")["QueueUrl"]
    recorder.names[old] = "old"
    environment = installation.environment
    intake = intake_from_env(environment, kit_from_env(environment))
    before = intake_from_env({"TICKWRIGHT_QUEUE_INTAKE": old}, kit_from_env(environment))
    assert intake is not None
    assert before is not None
    for number, code in ((90, REFUSED_AS), (91, REFUSED_AS)):
        asyncio.run(intake.set_aside(a_submission(number), Refusal(code=code, detail="deleted")))
    asyncio.run(before.put(a_submission(92)))
    recorder.run("intake", "return", *OF_IT)
    recorder.run("intake", "return", "--tenant", "acme")
    recorder.run("intake", "move", "--from", old)


def said() -> dict[str, Rights]:
    """What the page says."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    section = page[page.index("### Of whoever operates it") : page.index("## What is tested")]
    found: dict[str, Rights] = defaultdict(set)
    for row in re.findall(r"^\| (`.*) \|$", section, re.MULTILINE):
        commands, *cells, queues = row.split("|")
        rights = {(table, action) for table, cell in zip(TABLES, cells, strict=True) for action in _words(cell)}
        for action, queue in re.findall(r"(\w+) on ([\w ]+)", queues):
            rights.add(({name: role for role, name in QUEUES.items()}[queue.strip()], action))
        for command in re.findall(r"`(\w+ \w+)`", commands):
            found[command] |= rights
    return found


def _words(cell: str) -> list[str]:
    return re.findall(r"\w+", cell)


@pytest.mark.slow
def test_the_page_says_what_each_command_calls(
    installation: Installation,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No more and no less; a table's index is a part of the table there."""
    used = called(installation, recorder, monkeypatch, capsys)

    plain = {
        command: {(place.partition("/")[0], action) for place, action in rights} | MORE.get(command, set())
        for command, rights in used.items()
    }
    assert plain.keys() == {" ".join(command.words) for command in COMMANDS}
    assert plain == said()


def test_the_selector_of_events_is_one_that_cloudtrail_takes() -> None:
    """And selects what the commands write to keys and deletions; an import's records beside them are no key."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"--advanced-event-selectors '(.*?)'\n```", page, re.DOTALL)
    selectors = json.loads(re.sub(r"'\$(\w+)'", r"\1", text))
    client: Any = get_session().create_client("cloudtrail", region_name="us-east-1")
    with Stubber(client) as stub:
        stub.add_response("put_event_selectors", {}, {"TrailName": "t", "AdvancedEventSelectors": selectors})
        client.put_event_selectors(TrailName="t", AdvancedEventSelectors=selectors)

    (events,) = [one["Equals"] for one in selectors[0]["FieldSelectors"] if one["Field"] == "eventName"]
    written = {action for rights in said().values() for table, action in rights if table == "control"}
    assert set(events) == written - {"GetItem", "BatchGetItem", "Query", "Scan"}
