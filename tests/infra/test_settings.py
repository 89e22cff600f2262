"""Settings: what AWS would refuse an hour later, or what would starve a lane, is refused when it is read."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from aws_cdk.aws_lambda import ApplicationLogLevel

from infra.constructs.log_group import RETENTION
from infra.context import ROOT
from infra.door_settings import WafSettings
from infra.function_settings import ReleaseSettings
from infra.required import SettingRefused
from infra.settings import LANES, STAGES, settings_of
from infra.stage_settings import EPOCH_BASE_MAX, LOG_LEVELS, LOG_RETENTION_DAYS
from tickwright.domain import limits
from tickwright.domain.lanes import Lane

PROD = STAGES["prod"]
Change = Callable[[], object]


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
    with pytest.raises(SettingRefused):
        change()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda: replace(PROD, worker=replace(PROD.worker, reserved_concurrency=100)),
            "prod.worker.reserved_concurrency is 100: the lanes ask for 520: 520 or more, or None",
        ),
        (
            lambda: replace(PROD, account_concurrency=700),
            "prod.account_concurrency is 700: reservations take 689, and 100 stay free: no less than both",
        ),
        (
            lambda: replace(PROD, scheduler=replace(PROD.scheduler, timeout_s=60)),
            "prod.scheduler.timeout_s is 60: 135 or more: the next loop may come so late",
        ),
        (
            lambda: replace(PROD, log_retention_days=45),
            "prod.log_retention_days is 45: one of 7, 14, 30, 60, 90, 180, 365",
        ),
        (
            lambda: replace(PROD, log_level="LOUD"),
            "prod.log_level is 'LOUD': one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL",
        ),
        (lambda: replace(PROD, scale="slow"), "prod.scale is 'slow': a text of a number above 0 and up to 1"),
        (
            lambda: replace(PROD, targets={"acme": "arn:aws:sqs:eu-west-1:123456789012:acme"}),  # type: ignore[dict-item]
            "prod.targets['acme'] is 'arn:aws:sqs:eu-west-1:123456789012:acme': patterns in a tuple: ('arn:...',)",
        ),
        (
            lambda: replace(PROD, status_cache="redis://cache:6379"),
            "prod.status_cache is 'redis://cache:6379': rediss://HOST:PORT, or empty: unencrypted is refused",
        ),
        (
            lambda: replace(PROD.fleet.services["Urgent"], cpu=1_000),
            "ServiceSettings.cpu is 1000: Fargate has 256, 512, 1024, 2048, 4096",
        ),
        (
            lambda: replace(PROD.fleet.services["Urgent"], machines_min=60),
            "ServiceSettings.machines_min is 60: from 1 to machines_max, which is 50",
        ),
        (
            lambda: WafSettings(requests_of_an_address=5),
            "WafSettings.requests_of_an_address is 5: from 10 to 2000000000 in five minutes",
        ),
        (lambda: ReleaseSettings(canary=True), "ReleaseSettings.canary is True: it takes aliased=True"),
        (
            lambda: replace(PROD.api_gateway, burst=500),
            "ApiSettings.rate_per_s is 2000: from 1 to burst, which is 500",
        ),
        (
            lambda: replace(PROD.worker, memory_mib=64),
            "FunctionSettings.memory_mib is 64: from 128 to 10240",
        ),
    ],
)
def test_a_refusal_names_the_setting_its_value_and_what_it_may_be(
    change: Change, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with the exit status of a wrong argument: whoever deploys need not read the code."""
    with pytest.raises(SettingRefused) as refused:
        change()

    assert (refused.value.code, capsys.readouterr().err) == (2, f"{told}\n")


def test_a_refusal_names_the_line_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is made within an entry does not know of which stage."""
    written = tmp_path / "settings.py"
    monkeypatch.setattr("infra.required._WRITTEN", written)
    text = (
        "from infra.door_settings import WafSettings\nmade = dict(\n  waf=WafSettings(requests_of_an_address=5),\n)\n"
    )

    with pytest.raises(SettingRefused):
        exec(compile(text, str(written), "exec"), {})  # noqa: S102 - the lines above

    assert capsys.readouterr().err.startswith("infra/settings.py:3: WafSettings.requests_of_an_address is 5: ")


@pytest.mark.slow
def test_a_wrong_setting_ends_the_build_without_a_traceback() -> None:
    """As the CDK's command line and people see it."""
    ended = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=os.environ | {"TICKWRIGHT_STAGE": "production"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("There is no stage 'production'.")


@pytest.mark.parametrize("path", sorted((ROOT / "infra").glob("*settings.py")), ids=lambda path: path.name)
def test_no_check_of_a_setting_can_be_stripped(path: Path) -> None:
    """Assertions are gone where Python optimises, and CDK starts the app with whatever environment it has."""
    assert not [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Assert)]


def test_what_aws_has_a_list_of_is_that_list() -> None:
    """CDK has names for them, which the settings must not import."""
    assert set(LOG_LEVELS) == {level.name for level in ApplicationLogLevel}
    assert tuple(RETENTION) == LOG_RETENTION_DAYS


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
    with pytest.raises(SettingRefused, match=r"There is no stage 'production'.*dev, staging, prod"):
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
