"""`make e2e-deploy`: deploy, use, update while jobs run, roll back, destroy. Prints the time of each phase, then JSON.

The exit status is 1 where anything was not as expected. Everything it starts and makes is gone afterwards, whatever
ends it. What this does not show: docs/deploy.md.
"""

import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, Never

from tests.deploy import app, left, next_version
from tests.deploy.cdk import CDK, Cdk
from tests.deploy.ground import ROOT, Ground, a_ground, expect, heed, tail, until
from tests.deploy.journeys import RUNS_WITHIN_S, Journeys
from tests.deploy.machine import a_machine, an_image
from tests.deploy.operator_keys import Operator
from tests.deploy.target import Book, delete_function, make_function, serving
from tests.deploy.tenant import Tenant
from tests.support.emulators.clients import aws_client
from tests.support.emulators.installed import gap_must_be_told, missing_ministack
from tests.support.loopback import stay_on_this_machine

_TICKS_BEFORE, _TICKS_AFTER = 6, 4
_LINE = "  {name:<28} {seconds:6.1f} s"
# What a destroy leaves on purpose: an account has one role for the logs of all its APIs, and others may log by it.
_STAYS = "AccountLogRole"
_REVOKED_WITHIN_S = 90
_REFUSED = (401, 403)

Figures = dict[str, Any]


class Phases:
    """What takes how long; printed as it goes."""

    def __init__(self) -> None:
        """None yet."""
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """One phase."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - began, 1)
            print(_LINE.format(name=name, seconds=self.seconds[name]), flush=True)


def main() -> int:
    """Play all of it; the exit status."""
    heed(_end)
    stay_on_this_machine()
    lacks = missing_ministack() or (None if CDK.exists() else "CDK's command line is not installed: make setup")
    if lacks is not None:
        print(json.dumps({"deploy": "not tested", "why": lacks}))
        return 1 if gap_must_be_told() else 0
    began, phase, figures = time.monotonic(), Phases(), Figures()
    try:
        with a_ground() as ground, _told(ground):
            figures |= _play(ground, phase)
    except Exception as missed:  # noqa: BLE001 - whatever went wrong, the last line says so
        figures["failed"] = f"{type(missed).__name__}: {missed}"[:300]
    whole_s = round(time.monotonic() - began, 1)
    outcome = "failed" if "failed" in figures else "passed"
    print(json.dumps({"deploy": outcome, "seconds": whole_s, "phases": phase.seconds, **figures}))
    return 1 if "failed" in figures else 0


def _play(ground: Ground, phase: Phases) -> Figures:
    """From an empty account to an empty account."""
    endpoint, cdk, book = ground.aws.endpoint, Cdk(ground=ground), Book()
    with ExitStack() as stack:
        server = stack.enter_context(serving(book))
        image = stack.enter_context(an_image(ground, ROOT, "1"))
        make_function(endpoint, server)
        with phase("bootstrap"):
            cdk.bootstrap()
        before = left.inventory(endpoint)
        with phase("deploy"):
            outputs = cdk.deploy(ROOT)
        with phase("keys"):
            tenant = _tenant(ground, outputs)
        journeys = Journeys(tenant=tenant, book=book, server=server)
        with ExitStack() as machines:
            with phase("a machine of the fleet"):
                machine = machines.enter_context(a_machine(ground, image(), "1"))
            _use(journeys, endpoint, phase)
            next_tree = next_version.next_tree(ground.folder)
            next_image = stack.enter_context(an_image(ground, next_tree, "2"))
            with phase("update while jobs run"):
                expect("whether a diff names the new index", next_version.INDEX in cdk.diff(next_tree), True)  # noqa: FBT003
                cdk.deploy(next_tree)
            with phase("new machine, old one stops"):
                machines.enter_context(a_machine(ground, next_image(), "2"))
                machine.stop()
            with phase("runs of both versions"):
                figures = _after_the_update(journeys, endpoint)
            with phase("roll back"):
                cdk.deploy(ROOT)
            with phase("nothing lost, none twice"):
                figures |= _after_the_rollback(journeys)
        with phase("destroy"):
            cdk.destroy(ROOT)
        return figures | {"left": _left(endpoint, before)}


def _tenant(ground: Ground, outputs: dict[str, Any]) -> Tenant:
    """The tenant, as soon as the operator has made a key of it; whoever has none, or one that is over, is refused."""
    operator, url = Operator(ground), outputs[f"Tickwright-{app.STAGE}-Api"]["Url"]
    nobody = Tenant.at(ground.aws.endpoint, url)
    until("the API answers", lambda: nobody.ask("GET", "/health").status == 200, within_s=60)
    expect("the answer to somebody without a key", nobody.ask("GET", "/jobs").status, 401)
    tenant = replace(nobody, secret=operator.make(app.TENANT, "--label", "e2e"))
    expect("whose key it is", tenant.told("GET", "/me")["tenantId"], app.TENANT)
    other = replace(nobody, secret=operator.make("globex", "--scopes", "jobs:read", "--days", "1"))
    expect("another tenant's jobs", other.told("GET", "/jobs")["jobs"], [])
    expect("a write with a key that may read", other.ask("POST", "/jobs", {}, Idempotency_Key="x").status, 403)
    ((key_id, state, *_),) = operator.listed("globex")
    operator.revoke("globex", key_id)
    expect("what is listed", (state, operator.listed("globex")[0][1]), ("valid", "over"))
    until("a revoked key is refused", lambda: other.ask("GET", "/jobs").status in _REFUSED, within_s=_REVOKED_WITHIN_S)
    return tenant


def _use(journeys: Journeys, endpoint: str, phase: Phases) -> None:
    with phase("submit"):
        journeys.repeated_request_creates_nothing()
        journeys.submit()
    with phase("first rule, runs, retries"):
        journeys.succeeds_and_is_retried()
        _have_run(endpoint)
    with phase("dead letter and redrive"):
        journeys.dies_and_is_redriven(endpoint)
    with phase("cancel on the fleet"):
        journeys.is_cancelled_while_it_runs()
    with phase("ticks, heartbeats"):
        journeys.submit_steps()
        journeys.ticks(_TICKS_BEFORE)
        journeys.heartbeats()


def _after_the_update(journeys: Journeys, endpoint: str) -> Figures:
    """The new code answers and writes its attribute, into its index; what ran under the old one goes on."""
    expect("the version that answers", _version(journeys.tenant), next_version.VERSION)
    figures = dict(journeys.the_long_run_went_on())
    until("rows are in the new index", lambda: _in_the_index(endpoint) >= _TICKS_AFTER, within_s=RUNS_WITHIN_S)
    return figures | {"rowsInTheNewIndex": _in_the_index(endpoint)}


def _after_the_rollback(journeys: Journeys) -> Figures:
    """The former version reads what the next one wrote, and no tick of all this time is missing."""
    expect("the version that answers", _version(journeys.tenant), next_version.FORMER)
    journeys.ticks_go_on(_TICKS_AFTER)
    journeys.cancelled_never_ran()
    return dict(journeys.nothing_was_lost())


def _version(tenant: Tenant) -> str:
    return str(tenant.told("GET", "/health")["version"])


def _have_run(endpoint: str) -> None:
    """A bucket has a lease, which nobody but the scheduler's function takes; a mapping has handed messages over."""
    (table,) = [
        name for name in aws_client("dynamodb", endpoint).list_tables()["TableNames"] if name.endswith("-Control")
    ]
    lease = {"pk": {"S": "BUCKET#0"}, "sk": {"S": "LEASE"}}
    found = aws_client("dynamodb", endpoint).get_item(TableName=table, Key=lease, ConsistentRead=True)
    mappings = aws_client("lambda", endpoint).list_event_source_mappings()["EventSourceMappings"]
    handed_over = any(one["LastProcessingResult"].startswith("OK") for one in mappings)
    expect("whether the rule's function and the mapping's have worked", ("Item" in found, handed_over), (True, True))


def _in_the_index(endpoint: str) -> int:
    """How many executions the new index holds."""
    client = aws_client("dynamodb", endpoint)
    (table,) = [name for name in client.list_tables()["TableNames"] if name.endswith("-Executions")]
    return client.scan(TableName=table, IndexName=next_version.INDEX, Select="COUNT")["Count"]


def _left(endpoint: str, before: Mapping[str, frozenset[str]]) -> list[str]:
    """What a destroy leaves: nothing but the one role that an account has for the logs of its APIs.

    A loop that was still at work while its stack went says its last words afterwards, and the local AWS makes its log
    again for them; AWS gives no function here the right to that.
    """
    delete_function(endpoint)
    found = left.more(before, left.inventory(endpoint))
    stays = [name for name in found.get("roles", []) if _STAYS in name]
    last_words = [name for name in found.get("log groups", []) if f"/Tickwright-{app.STAGE}-Core/" in name]
    expect("what is left", sorted(name for names in found.values() for name in names), sorted(stays + last_words))
    return stays


@contextmanager
def _told(ground: Ground) -> Iterator[None]:
    """Where something is missed, what the programs have printed says more than the miss."""
    try:
        yield
    except Exception as missed:
        for log in sorted(ground.folder.glob("*.log")):
            print(f"--- {log.name}\n{tail(log)}", file=sys.stderr)
        print(f"--- ministack\n{ground.aws.printed()}\nFAILS: {type(missed).__name__}: {missed}", file=sys.stderr)
        raise


def _end(number: int, _frame: FrameType | None) -> Never:
    """Leave by the way that cleans up; a second signal changes nothing about that."""
    heed(signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
