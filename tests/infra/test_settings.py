"""Settings: what AWS would refuse an hour later, or what would starve a lane, is refused when it is read."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import pytest

from infra.context import ROOT
from infra.settings import LANES, STAGES, Settings, settings_of
from infra.stage_settings import EPOCH_BASE_MAX
from tickwright.domain import limits
from tickwright.domain.lanes import Lane

PROD = STAGES["prod"]
Change = Callable[[], Settings]


def lanes(most: int) -> MappingProxyType[str, int]:
    return MappingProxyType(dict.fromkeys(LANES, most))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: replace(PROD, worker=replace(PROD.worker, timeout_s=901)), id="longer than Lambda runs"),
        pytest.param(lambda: replace(PROD, api=replace(PROD.api, timeout_s=29)), id="longer than the gateway waits"),
        pytest.param(lambda: replace(PROD, claim=replace(PROD.claim, timeout_s=20)), id="no time left to claim"),
        pytest.param(lambda: replace(PROD, claim_seats=0), id="nobody may wait"),
        pytest.param(lambda: replace(PROD, claim_seats=101), id="more seats than are read at once"),
        pytest.param(lambda: replace(PROD, claim_seats=76), id="a tenant that keeps all others out"),
        pytest.param(
            lambda: replace(PROD, scheduler=replace(PROD.scheduler, timeout_s=119)), id="a gap between two loops"
        ),
        pytest.param(lambda: replace(PROD, buckets=1_025), id="more buckets than one loop reads"),
        pytest.param(lambda: replace(PROD, buckets_served=PROD.buckets - 1), id="buckets that nobody looks at"),
        pytest.param(lambda: replace(PROD, epoch_base=EPOCH_BASE_MAX + 1), id="epochs that no fence has room for"),
        pytest.param(lambda: replace(PROD, scheduler_slots=17), id="more slots than buckets"),
        pytest.param(lambda: replace(PROD, lane_concurrency=lanes(1)), id="less than a mapping takes"),
        pytest.param(lambda: replace(PROD, lane_concurrency=lanes(200)), id="more than the worker's reservation"),
        pytest.param(lambda: replace(PROD, lane_concurrency={"high": 10}), id="a lane without a worker"),
        pytest.param(lambda: replace(PROD, account_concurrency=500), id="more than the account has"),
        pytest.param(lambda: replace(PROD, scheduler_slots=5), id="fewer loops than slots need"),
        pytest.param(lambda: replace(PROD, stage="prod-r1"), id="a name that begins like another stage's things"),
        pytest.param(lambda: replace(PROD, stage="Prod"), id="a name that queues and stacks write differently"),
        pytest.param(lambda: replace(PROD, stage="p" * 17), id="a name that leaves a queue's no room"),
        pytest.param(lambda: replace(PROD, scale="0"), id="time that stands still"),
    ],
)
def test_settings_that_would_starve_something_are_refused(change: Change) -> None:
    """Found while reading, rather than in a deployment that fails or in a lane that stands still."""
    with pytest.raises(AssertionError):
        change()


def test_the_last_base_is_the_same_in_the_product() -> None:
    """Which the settings must not import."""
    assert limits.EPOCH_BASE_MAX == EPOCH_BASE_MAX


def test_the_page_on_workers_says_how_much_room_claims_have() -> None:
    """Who plans a fleet of machines reads it there."""
    page = (ROOT / "docs" / "workers.md").read_text(encoding="utf-8")
    section = page.partition("## Claims that wait")[2].partition("\n## ")[0]

    seats, reserved = (
        {
            stage: int(number)
            for number, stage in re.findall(r"(\d+) in (\w+)", section.partition(word)[2].partition(")")[0])
        }
        for word in ("*seats*", "reserved concurrency")
    )

    assert seats == {name: one.claim_seats for name, one in STAGES.items()}
    assert reserved == {
        name: one.claim.reserved_concurrency for name, one in STAGES.items() if one.claim.reserved_concurrency
    }


def test_a_stage_that_nobody_defined_ends_the_build_with_those_that_exist() -> None:
    """A typing error must not become a fourth installation."""
    with pytest.raises(SystemExit, match=r"There is no stage 'production'.*dev, staging, prod"):
        settings_of("production")


def test_the_lanes_are_those_of_the_product() -> None:
    """In the same order: highest first."""
    assert tuple(lane.value for lane in Lane) == LANES


def test_an_entry_is_whole_and_changes_no_other_stage() -> None:
    """Who tries a smaller staging must not find out in prod."""
    tree = ast.parse((ROOT / "infra" / "settings.py").read_text(encoding="utf-8"))
    entries = {
        assigned.targets[0].id: {node.id for node in ast.walk(assigned.value) if isinstance(node, ast.Name)}
        for assigned in tree.body
        if isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name)
    }
    stages = {f"_{name.upper()}" for name in STAGES}

    assert stages <= set(entries)
    for stage in stages:
        assert not entries[stage] & set(entries), stage


def test_a_stage_is_found_by_its_name() -> None:
    """Three stages, each under the name it has."""
    assert {name: settings_of(name).stage for name in STAGES} == {name: name for name in ("dev", "staging", "prod")}
