"""What is off by default: a key of one's own, a name, a web ACL, pollers, aliases, snapshots, canaries."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from infra.door_settings import ApiSettings, DomainSettings, WafSettings
from infra.function_settings import ReleaseSettings
from infra.lane_settings import Pollers
from infra.policy.alarm_checks import ALARM, check_alarms
from infra.policy.checks import FUNCTION, MAPPING, TABLE, check, statements
from infra.policy.container_checks import check_containers
from infra.policy.everything import EVERYTHING
from infra.policy.templates import ALIAS, Templates
from infra.required import SettingRefused
from infra.settings import STAGES
from infra.table_settings import TableSettings, WarmThroughput

PROD = STAGES["prod"]
LOOPS = {"scheduler", "watch"}


def only(templates: Templates, resource_type: str) -> dict[str, Any]:
    """The properties of the one resource of a type."""
    ((_, found),) = templates.of_type(resource_type)
    properties: dict[str, Any] = found["Properties"]
    return properties


def functions(templates: Templates) -> dict[str, dict[str, Any]]:
    """The functions, by name."""
    return {each["Properties"]["Handler"].split(".")[1]: each["Properties"] for _, each in templates.of_type(FUNCTION)}


def test_a_stage_with_every_option_keeps_to_the_rules_of_the_house(everything: Templates) -> None:
    """An option is no way round a rule."""
    assert [*check(everything), *check_containers(everything), *check_alarms(everything)] == []


def test_no_option_is_on_by_default(prod: Templates) -> None:
    """Each costs something, or asks its owner for something."""
    types = {each["Type"] for template in prod.by_stack.values() for each in template["Resources"].values()}

    assert not types & {
        ALIAS,
        "AWS::KMS::Key",
        "AWS::WAFv2::WebACL",
        "AWS::ApiGateway::DomainName",
        "AWS::CodeDeploy::DeploymentGroup",
    }


# --- tables -------------------------------------------------------------------------------------------------------
def test_tables_can_be_under_a_key_of_one_s_own(everything: Templates) -> None:
    """It turns by itself, and stays as long as what it encrypts."""
    ((key, made),) = everything.of_type("AWS::KMS::Key")

    assert (made["DeletionPolicy"], made["Properties"]["EnableKeyRotation"]) == ("Retain", True)
    for address, table in everything.of_type(TABLE):
        (replica,) = table["Properties"]["Replicas"]
        assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        assert everything.target(address.stack, replica["SSESpecification"]["KMSMasterKeyId"]) == key


def test_whoever_may_use_the_tables_may_use_their_key_through_them_alone(everything: Templates) -> None:
    """Each function and each machine, and nobody outside DynamoDB and the queues of the intake."""
    granted = [statement for _, statement in statements(everything) if statement.get("Sid") == "Key"]

    assert len(granted) == len(functions(everything)) + len(EVERYTHING.fleet.services)
    for statement in granted:
        assert "kms:ViaService" in statement["Condition"]["StringEquals"]
        assert not any("*" in action for action in statement["Action"])


def test_a_key_is_granted_to_all_before_a_table_is_under_it(synthesise: Callable[..., Templates]) -> None:
    """Tables change first in a deployment: in one step nobody could read them until the last stack is there."""
    granted = synthesise(replace(PROD, tables=replace(PROD.tables, customer_key_granted=True)))

    may_use = [statement for _, statement in statements(granted) if statement.get("Sid") == "Key"]
    assert len(may_use) == len(functions(granted)) + len(PROD.fleet.services)
    assert len(list(granted.of_type("AWS::KMS::Key"))) == 1
    assert not any("KMSMasterKeyId" in json.dumps(table) for _, table in granted.of_type(TABLE))


def test_the_busy_tables_and_indexes_are_warm(everything: Templates) -> None:
    """What takes the writes of each tick; the others would be paid for and used by nobody."""
    warm = {
        address.logical_id: [
            index["IndexName"]
            for index in table["Properties"].get("GlobalSecondaryIndexes", ())
            if "WarmThroughput" in index
        ]
        for address, table in everything.of_type(TABLE)
        if "WarmThroughput" in table["Properties"]
    }

    assert warm == {"Jobs": ["due"], "Executions": []}


# --- lanes --------------------------------------------------------------------------------------------------------
def test_a_lane_has_pollers_of_its_own_or_a_number(everything: Templates) -> None:
    """Lambda refuses both at one mapping."""
    ways = {}
    for address, mapping in everything.of_type(MAPPING):
        queue = everything.target(address.stack, mapping["Properties"]["EventSourceArn"])
        assert queue is not None
        given = mapping["Properties"].get("ProvisionedPollerConfig") or mapping["Properties"]["ScalingConfig"]
        ways[queue.logical_id] = (given, "ScalingConfig" in mapping["Properties"])

    assert ways == {
        "QueueHigh": ({"MinimumPollers": 4, "MaximumPollers": 20}, False),
        "QueueNormal": ({"MinimumPollers": 2, "MaximumPollers": 20}, False),
        "QueueLow": ({"MaximumConcurrency": 80}, True),
        "QueueBackfill": ({"MaximumConcurrency": 40}, True),
        "QueueIntake": ({"MaximumConcurrency": 5}, True),
    }


# --- releases -----------------------------------------------------------------------------------------------------
def test_every_function_is_called_by_its_alias(everything: Templates) -> None:
    """A caller that named the function itself would have what is not released yet."""
    aliases = {
        everything.target(address.stack, {"Ref": address.logical_id}) for address, _ in everything.of_type(ALIAS)
    }
    named = [
        each["Properties"]["FunctionName"]
        for resource_type in (MAPPING, "AWS::Lambda::Permission")
        for _, each in everything.of_type(resource_type)
    ]

    assert len(aliases) == len(functions(everything))
    assert named
    assert all("Live" in str(name) for name in named)
    for _, rule in everything.of_type("AWS::Events::Rule"):
        assert all("Live" in target["Arn"]["Ref"] for target in rule["Properties"]["Targets"])


def test_what_is_called_by_people_and_queues_starts_from_a_snapshot(everything: Templates) -> None:
    """Loops are started each minute, and stay warm by it."""
    on = {name for name, each in functions(everything).items() if "SnapStart" in each}

    assert on == set(functions(everything)) - LOOPS


@pytest.mark.parametrize(
    ("release", "policy"),
    [(ReleaseSettings(aliased=True), "Retain"), (ReleaseSettings(aliased=True, snap_start=True), "Delete")],
)
def test_earlier_versions_stay_to_go_back_to_unless_each_costs(
    synthesise: Callable[..., Templates], release: ReleaseSettings, policy: str
) -> None:
    """A snapshot is paid for by the hour, whether anybody starts from it or not."""
    templates = synthesise(replace(PROD, release=release))

    assert {each.get("DeletionPolicy") for _, each in templates.of_type("AWS::Lambda::Version")} == {policy}


def test_callers_meet_a_new_version_by_tenths(everything: Templates) -> None:
    """The API and its authorizer; alarms take it back, and no other function is released by halves."""
    groups = [each["Properties"] for _, each in everything.of_type("AWS::CodeDeploy::DeploymentGroup")]
    moved = {
        everything.target(address.stack, {"Ref": address.logical_id})
        for address, alias in everything.of_type(ALIAS)
        if "UpdatePolicy" in alias
    }

    assert {group["DeploymentConfigName"] for group in groups} == {"CodeDeployDefault.LambdaCanary10Percent5Minutes"}
    assert all(len(group["AlarmConfiguration"]["Alarms"]) == 2 for group in groups)
    assert all("DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"] for group in groups)
    assert {re.split("Function", address.logical_id)[0] for address in moved if address} == {"Api", "Authorizer"}


def test_a_release_goes_back_by_the_errors_of_its_own_version_alone(everything: Templates) -> None:
    """One time limit of the version before it must not take a good one back."""
    (alarm,) = [
        each["Properties"] for address, each in everything.of_type(ALARM) if address.logical_id.startswith("ReleaseErr")
    ]
    dimensions = {each["Name"]: each["Value"] for each in alarm["Dimensions"]}

    assert set(dimensions) == {"FunctionName", "Resource", "ExecutedVersion"}
    assert "ApiFunctionCurrentVersion" in dimensions["ExecutedVersion"]["Fn::GetAtt"][0]


@pytest.mark.parametrize("heeds", [True, False])
def test_an_api_that_answers_5xx_can_be_repaired_by_a_release(
    synthesise: Callable[..., Templates], *, heeds: bool
) -> None:
    """Its alarms ring already: they would take back what ends them, unless the release says not to look."""
    release = ReleaseSettings(aliased=True, canary=True, heeds_alarms=heeds)
    groups = list(synthesise(replace(PROD, release=release)).of_type("AWS::CodeDeploy::DeploymentGroup"))

    assert len(groups) == 2
    for _, group in groups:
        assert group["Properties"]["AlarmConfiguration"].get("Enabled", True) is heeds


# --- the door -----------------------------------------------------------------------------------------------------
def test_an_api_with_a_name_of_its_own_is_found_under_no_other(everything: Templates) -> None:
    """By TLS 1.2 at least, for IPv4 and IPv6."""
    name = only(everything, "AWS::ApiGateway::DomainName")
    records = {
        each["Properties"]["Type"]: each["Properties"]["Name"]
        for _, each in everything.of_type("AWS::Route53::RecordSet")
    }

    assert (name["DomainName"], name["SecurityPolicy"]) == ("jobs.example.com", "TLS_1_2")
    assert only(everything, "AWS::ApiGateway::RestApi")["DisableExecuteApiEndpoint"] is True
    assert records == {"A": "jobs.example.com.", "AAAA": "jobs.example.com."}


@pytest.mark.parametrize("stage", ["dev", "everything"])
def test_paths_can_be_put_behind_the_address_that_is_told(request: pytest.FixtureRequest, stage: str) -> None:
    """As docs/deploy.md does: a slash at its end would be a second one, and no path of the API. It is told once."""
    if stage == "everything":
        templates = request.getfixturevalue("everything")
        outputs = templates.by_stack[f"Tickwright-{EVERYTHING.stage}-Api"]["Outputs"]
    else:
        outputs = request.getfixturevalue("stages")[stage].by_stack[f"Tickwright-{stage}-Api"]["Outputs"]

    told = {name: of["Value"] for name, of in outputs.items() if "https://" in json.dumps(of["Value"])}

    assert list(told) == ["Url"]
    last = told["Url"] if isinstance(told["Url"], str) else told["Url"]["Fn::Join"][1][-1]
    assert not str(last).endswith("/")


def test_a_name_without_a_zone_is_entered_by_somebody_else(synthesise: Callable[..., Templates]) -> None:
    """The domain is there to aim at, and nothing is entered anywhere."""
    domain = DomainSettings(name="jobs.example.com", certificate_arn=CERTIFICATE)

    templates = synthesise(replace(PROD, api_gateway=replace(PROD.api_gateway, domain=domain)))

    outputs = templates.by_stack[f"Tickwright-{PROD.stage}-Api"]["Outputs"]

    assert only(templates, "AWS::ApiGateway::DomainName")
    assert "RegionalDomainName" in str(outputs["DomainTarget"]["Value"])
    assert list(templates.of_type("AWS::Route53::RecordSet")) == []


def test_a_web_acl_refuses_who_asks_too_often_and_lets_payloads_be(everything: Templates) -> None:
    """A payload may look like anything: what AWS's rules find in a body is counted, and not refused."""
    often, common = only(everything, "AWS::WAFv2::WebACL")["Rules"]
    group = common["Statement"]["ManagedRuleGroupStatement"]
    counted = {each["Name"] for each in group["RuleActionOverrides"] if "Count" in each["ActionToUse"]}

    assert often["Action"] == {"Block": {}}
    assert often["Statement"]["RateBasedStatement"] == {"AggregateKeyType": "IP", "Limit": 10_000}
    assert group["Name"] == "AWSManagedRulesCommonRuleSet"
    assert {"SizeRestrictions_BODY", "GenericRFI_BODY", "EC2MetaDataSSRF_BODY"} <= counted


def test_a_web_acl_logs_what_it_refuses_and_no_key(everything: Templates) -> None:
    """In a group of the name that WAF asks for."""
    logging = only(everything, "AWS::WAFv2::LoggingConfiguration")
    groups = [each["Properties"].get("LogGroupName") for _, each in everything.of_type("AWS::Logs::LogGroup")]

    assert logging["RedactedFields"] == [{"SingleHeader": {"Name": "authorization"}}]
    assert logging["LoggingFilter"]["DefaultBehavior"] == "DROP"
    assert "aws-waf-logs-tickwright-everything" in groups


def test_a_log_group_with_a_name_of_its_own_does_not_stay_in_the_way_of_the_next(everything: Templates) -> None:
    """A web ACL that is turned off and on again makes the group of the same name; others stay where tables stay."""
    kept = {
        "LogGroupName" in each["Properties"]: each["DeletionPolicy"]
        for _, each in everything.of_type("AWS::Logs::LogGroup")
    }

    assert EVERYTHING.tables.retained
    assert kept == {True: "Delete", False: "Retain"}


# --- settings -----------------------------------------------------------------------------------------------------
CERTIFICATE = "arn:aws:acm:eu-central-1:123456789012:certificate/0123"
DOOR = ApiSettings(rate_per_s=1, burst=1, authorizer_cache_s=0)
TABLES = TableSettings(retained=True, recovery_days=35)
WARM = WarmThroughput(read_units=12_000, write_units=4_000)
FEW = Pollers(least=2, most=4)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: WarmThroughput(read_units=11_999, write_units=4_000), id="less than a cold table"),
        pytest.param(lambda: replace(TABLES, recovery_days=36), id="further back than DynamoDB goes"),
        pytest.param(lambda: replace(TABLES, write_units_max=0), id="nobody may write"),
        pytest.param(lambda: replace(TABLES, warm=WARM, write_units_max=3_000), id="warmth that a maximum refuses"),
        pytest.param(lambda: Pollers(least=1, most=4), id="fewer pollers than Lambda keeps"),
        pytest.param(lambda: Pollers(least=4, most=3), id="a maximum under the minimum"),
        pytest.param(lambda: Pollers(least=2, most=2_001), id="more pollers than Lambda keeps"),
        pytest.param(lambda: replace(PROD, lane_pollers={"high": FEW}), id="a lane in two ways"),
        pytest.param(
            lambda: replace(PROD, lane_concurrency={"high": 200}, lane_pollers={"low": FEW}), id="a lane in no way"
        ),
        pytest.param(
            lambda: replace(
                PROD,
                lane_concurrency=MappingProxyType({"normal": 200, "low": 80, "backfill": 40}),
                lane_pollers={"high": Pollers(least=2, most=21)},
            ),
            id="pollers that ask for more than the worker has",
        ),
        pytest.param(lambda: ReleaseSettings(snap_start=True), id="a snapshot of no version"),
        pytest.param(lambda: ReleaseSettings(canary=True), id="a canary without an alias"),
        pytest.param(lambda: WafSettings(requests_of_an_address=9), id="a limit that WAF refuses"),
        pytest.param(lambda: replace(DOOR, rate_per_s=2), id="a bucket that holds no second"),
        pytest.param(lambda: replace(DOOR, authorizer_cache_s=3_601), id="an answer that is kept too long"),
        pytest.param(lambda: DomainSettings(name="jobs", certificate_arn=CERTIFICATE), id="a name without a domain"),
        pytest.param(
            lambda: DomainSettings(name="jobs.example.com", certificate_arn="arn:aws:iam::1:server-certificate/x"),
            id="a certificate of another service",
        ),
        pytest.param(
            lambda: DomainSettings(name="jobs.example.com", certificate_arn=CERTIFICATE, zone_id="Z0123456789"),
            id="half a zone",
        ),
        pytest.param(
            lambda: DomainSettings(
                name="jobs.example.com", certificate_arn=CERTIFICATE, zone_id="Z0123456789", zone_name="example.org"
            ),
            id="a zone of another name",
        ),
    ],
)
def test_options_that_aws_would_refuse_are_refused_first(change: Callable[[], object]) -> None:
    """Found while reading, rather than in a deployment that fails an hour later."""
    with pytest.raises(SettingRefused):
        change()
