"""The fleet: what its machines are, who may do what there, how many there are, and how its image is made."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from infra.constructs.fleet_image import COPIED, DOCKERFILE
from infra.context import ROOT
from infra.environment import variables_of
from infra.fleet_settings import STOP_S, FleetSettings, ImageSettings, NetworkSettings, ServiceSettings
from infra.policy.container_checks import CONTAINER_CHECKS, DEFINITION, GROUP, SERVICE, check_containers
from infra.policy.templates import Templates
from infra.required import SettingRefused
from infra.settings import LANES, STAGES, Settings
from tests.infra.conftest import Synthesise
from tests.infra.test_grants import granted_to, meant
from tickwright.domain.lanes import Lane
from tickwright.domain.limits import STANDARD
from tickwright.fleet_settings import fleet_from_environment
from tickwright.services.keeping import letting_go_ms

POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
PROD = STAGES["prod"]
DOCKER = (ROOT / DOCKERFILE).read_text(encoding="utf-8")
Container = dict[str, Any]
Resources = dict[str, Any]


def containers(templates: Templates) -> list[Container]:
    """Every container of every machine."""
    return [
        container
        for _, definition in templates.of_type(DEFINITION)
        for container in definition["Properties"]["ContainerDefinitions"]
    ]


def environment(container: Container) -> dict[str, str]:
    """Its plain variables; what AWS fills in while deploying is any text."""
    return {each["Name"]: each["Value"] if isinstance(each["Value"], str) else "x" for each in container["Environment"]}


def with_fleet(**changes: Any) -> Settings:  # noqa: ANN401 - fields of several types
    return replace(PROD, fleet=replace(PROD.fleet, **changes))


# --- machines -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", STAGES)
def test_the_machines_of_each_stage_keep_to_the_rules_of_the_house(stages: Mapping[str, Templates], stage: str) -> None:
    """Closed containers that end well, services that are replaced safely, nobody let in."""
    assert containers(stages[stage])
    assert check_containers(stages[stage]) == []


@pytest.mark.sem("SEM-FLEET-1")
@pytest.mark.parametrize("stage", STAGES)
def test_a_machine_understands_what_it_is_told(stages: Mapping[str, Templates], stage: str) -> None:
    """The product reads the variables as the settings mean them, and together the machines serve every lane."""
    served = set()
    for container in containers(stages[stage]):
        told = environment(container)
        read = fleet_from_environment(told)
        meant_places = STAGES[stage].fleet.services[read.fleet].places
        assert {lane.value: places for lane, places in read.places.items()} == meant_places
        served |= set(read.places)

    assert served == set(Lane)


@pytest.mark.sem("SEM-FLEET-2")
def test_a_machine_ends_within_what_it_is_given(prod: Templates) -> None:
    """The last poll, the grace and a margin are under the stop timeout, and most of it is the runs' own."""
    for container in containers(prod):
        read = fleet_from_environment(environment(container))

        assert read.stop_s == container["StopTimeout"] == STOP_S
        assert read.poll_ms + read.grace_ms <= 1_000 * container["StopTimeout"] - 10_000
        assert read.grace_ms > 10 * letting_go_ms(STANDARD)


def test_what_is_secret_is_told_by_reference(prod: Templates) -> None:
    """Whoever may describe a container reads its environment."""
    for container in containers(prod):
        secret = [each["Name"] for each in container["Secrets"]]

        assert secret == ["TICKWRIGHT_WEBHOOK_KEY"]
        assert sorted([*environment(container), *secret]) == sorted(variables_of("fargate"))


def test_every_service_of_the_fleet_has_the_same_rights(prod: Templates) -> None:
    """Those of the table, each on a role of its own."""
    roles = [
        prod.target(address.stack, definition["Properties"]["TaskRoleArn"])
        for address, definition in prod.of_type(DEFINITION)
    ]

    assert len(roles) == len(PROD.fleet.services)
    for role in roles:
        assert role is not None
        assert granted_to(prod, role) == meant("fargate")


def test_what_must_not_wait_has_certain_machines_and_low_has_spot_ones(prod: Templates) -> None:
    """Spot may be gone for hours: low has a certain machine too, and some places among the urgent."""
    strategies = {
        address.logical_id: service["Properties"]["CapacityProviderStrategy"]
        for address, service in prod.of_type(SERVICE)
    }
    (urgent,) = [strategy for name, strategy in strategies.items() if "Urgent" in name]
    (patient,) = [strategy for name, strategy in strategies.items() if "Patient" in name]

    assert [each["CapacityProvider"] for each in urgent] == ["FARGATE"]
    assert [(each["CapacityProvider"], each.get("Base"), each["Weight"]) for each in patient] == [
        ("FARGATE", 1, 0),
        ("FARGATE_SPOT", None, 1),
    ]
    assert "low" in PROD.fleet.services["Urgent"].places


def test_the_cluster_itself_names_its_kinds_of_machines(prod: Templates) -> None:
    """No service is made before its cluster has what it asks for, and no resource beside the cluster says it."""
    (cluster,) = [cluster for _, cluster in prod.of_type("AWS::ECS::Cluster")]
    asked = {
        each["CapacityProvider"]
        for _, service in prod.of_type(SERVICE)
        for each in service["Properties"]["CapacityProviderStrategy"]
    }

    assert asked <= set(cluster["Properties"]["CapacityProviders"])
    assert list(prod.of_type("AWS::ECS::ClusterCapacityProviderAssociations")) == []


def test_a_network_without_flow_logs_has_nothing_that_flow_logs_need(synthesise: Synthesise) -> None:
    """The setting takes the log, its group and its role away together."""
    with_logs, without = (synthesise(with_fleet(flow_logs=logs)) for logs in (True, False))

    assert len(list(with_logs.of_type("AWS::EC2::FlowLog"))) == 1
    assert list(without.of_type("AWS::EC2::FlowLog")) == []
    assert "RefusedTraffic" not in str(without.by_stack)


def test_the_machines_are_those_that_the_image_is_made_for(prod: Templates) -> None:
    """Linux on arm64."""
    platforms = [definition["Properties"]["RuntimePlatform"] for _, definition in prod.of_type(DEFINITION)]

    assert platforms == [{"CpuArchitecture": "ARM64", "OperatingSystemFamily": "LINUX"}] * len(PROD.fleet.services)


# --- how many -----------------------------------------------------------------------------------------------------
def policies(templates: Templates, service: str) -> dict[str, dict[str, Any]]:
    """The scaling policies of a service, by what they follow."""
    found = {}
    for address, policy in templates.of_type(POLICY):
        if service in address.logical_id:
            properties = policy["Properties"]["TargetTrackingScalingPolicyConfiguration"]
            followed = properties["CustomizedMetricSpecification"]
            found[followed.get("MetricName", "backlog")] = properties
    return found


@pytest.mark.parametrize(("service", "queues"), [("Urgent", ["High", "Normal"]), ("Patient", ["Low", "Backfill"])])
def test_a_service_follows_the_backlog_that_is_its_own_to_work_off(
    prod: Templates, service: str, queues: list[str]
) -> None:
    """A herd of low hints must not start certain machines, though they have a few places for it."""
    backlog = policies(prod, service)["backlog"]
    metrics = backlog["CustomizedMetricSpecification"]["Metrics"]
    waiting = [each for each in metrics if each["Id"].startswith("waiting")]
    (total,) = [each["Expression"] for each in metrics if each["ReturnData"]]

    named = [str(each["MetricStat"]["Metric"]["Dimensions"]) for each in waiting]
    assert all(f"QueueFargate{queue}QueueName" in name for queue, name in zip(queues, named, strict=True))
    assert all(each["Id"] in total for each in waiting)
    assert backlog["TargetValue"] == PROD.fleet.services[service].backlog_per_machine


def backlog_per_machine(expression: str, waiting: list[int], running: int) -> float:
    """What CloudWatch makes of the expression, for numbers of one minute."""
    python = re.sub(r"FILL\((\w+), 0\)", r"\1", expression)
    python = re.sub(r"IF\((.+?) < 1, 1, (\w+)\)", r"(1 if \1 < 1 else \2)", python)
    names = {f"waiting{number}": value for number, value in enumerate(waiting)} | {"running": running}
    return float(eval(python, {"__builtins__": {}}, names))  # noqa: S307 - the expression is our own


def test_the_backlog_is_shared_among_the_machines_that_run(prod: Templates) -> None:
    """None at all is no division by zero: what waits is one machine's, so that there will be one."""
    metrics = policies(prod, "Urgent")["backlog"]["CustomizedMetricSpecification"]["Metrics"]
    (expression,) = [each["Expression"] for each in metrics if each["ReturnData"]]

    assert backlog_per_machine(expression, [30, 10], 4) == 10
    assert backlog_per_machine(expression, [30, 10], 0) == 40
    assert backlog_per_machine(expression, [0, 0], 0) == 0


@pytest.mark.parametrize("service", PROD.fleet.services)
def test_machines_are_counted_by_what_they_say_and_nothing_is_paid_for_it(prod: Templates, service: str) -> None:
    """Each says once a minute how full it is: so many samples, so many machines that take runs."""
    metrics = policies(prod, service)["backlog"]["CustomizedMetricSpecification"]["Metrics"]
    (running,) = [each["MetricStat"] for each in metrics if each["Id"] == "running"]
    ((_, cluster),) = prod.of_type("AWS::ECS::Cluster")

    assert running["Stat"] == "SampleCount"
    assert running["Metric"]["MetricName"] == "PlacesTaken"
    assert {each["Name"]: each["Value"] for each in running["Metric"]["Dimensions"]} == {
        "Stage": "prod",
        "Fleet": service,
    }
    assert cluster["Properties"]["ClusterSettings"] == [{"Name": "containerInsights", "Value": "disabled"}]


def test_a_service_that_goes_by_its_places_alone_looks_at_no_queue(dev: Templates) -> None:
    """Each look of scaling is an alarm that is paid for."""
    assert STAGES["dev"].fleet.services["Shared"].backlog_per_machine is None
    assert list(policies(dev, "Shared")) == ["PlacesTaken"]


def test_there_is_headroom_before_anything_waits(prod: Templates) -> None:
    """New machines take minutes: they are started while a third of the places is still free."""
    for service in PROD.fleet.services:
        places = policies(prod, service)["PlacesTaken"]

        assert places["TargetValue"] < 70
        assert places["CustomizedMetricSpecification"]["Dimensions"] == [
            {"Name": "Stage", "Value": "prod"},
            {"Name": "Fleet", "Value": service},
        ]
        assert places["ScaleOutCooldown"] < places["ScaleInCooldown"]


def test_an_installation_that_cannot_scale_has_a_number_of_machines(synthesise: Synthesise) -> None:
    """Not every emulator knows how to scale: the services are there, as many machines as the least."""
    still = synthesise(with_fleet(scales=False))

    assert [*still.of_type(POLICY), *still.of_type(TARGET)] == []
    counts = {service["Properties"]["DesiredCount"] for _, service in still.of_type(SERVICE)}
    assert counts == {service.machines_min for service in PROD.fleet.services.values()}


# --- network and image --------------------------------------------------------------------------------------------
def test_the_network_of_its_own_costs_nothing_by_the_hour(prod: Templates) -> None:
    """No NAT and no endpoint with a price; tables and layers of images are reached inside AWS."""
    endpoints = [each["Properties"]["VpcEndpointType"] for _, each in prod.of_type("AWS::EC2::VPCEndpoint")]

    assert list(prod.of_type("AWS::EC2::NatGateway")) == []
    assert endpoints == ["Gateway", "Gateway"]


def test_machines_can_stand_in_subnets_that_exist(synthesise: Synthesise) -> None:
    """Then no network is made, and nothing is looked up."""
    given = NetworkSettings(
        vpc_id="vpc-0a1b2c3d",
        subnet_ids=("subnet-0a1b2c3d", "subnet-1b2c3d4e"),
        availability_zones=("eu-central-1a", "eu-central-1b"),
        public_addresses=False,
    )

    templates = synthesise(with_fleet(network=given))

    assert list(templates.of_type("AWS::EC2::VPC")) == []
    for _, service in templates.of_type(SERVICE):
        network = service["Properties"]["NetworkConfiguration"]["AwsvpcConfiguration"]
        assert (network["Subnets"], network["AssignPublicIp"]) == (["subnet-0a1b2c3d", "subnet-1b2c3d4e"], "DISABLED")
    assert check_containers(templates) == []


def test_an_image_is_named_by_its_digest(synthesise: Synthesise) -> None:
    """A tag may move under a fleet that runs. Nothing is built then, and whoever starts a machine may pull it."""
    digest = f"sha256:{'a' * 64}"

    templates = synthesise(with_fleet(image=ImageSettings(repository="billing/worker", digest=digest)))

    for container in containers(templates):
        assert f"/billing/worker@{digest}" in json.dumps(container["Image"])
    assert "cdk-hnb659fds-container-assets" not in json.dumps(templates.by_stack)
    assert check_containers(templates) == []


SERVICE_SETTINGS = PROD.fleet.services["Urgent"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: replace(SERVICE_SETTINGS, places={}), id="machines without a place"),
        pytest.param(lambda: replace(SERVICE_SETTINGS, places={"high": 0}), id="a lane without a place"),
        pytest.param(lambda: replace(SERVICE_SETTINGS, memory_mib=512), id="memory that no such machine has"),
        pytest.param(lambda: replace(SERVICE_SETTINGS, machines_min=0), id="no machine to be measured"),
        pytest.param(lambda: replace(SERVICE_SETTINGS, machines_max=1), id="a maximum under the minimum"),
        pytest.param(lambda: replace(SERVICE_SETTINGS, on_demand=51), id="more certain machines than machines"),
        pytest.param(lambda: with_fleet(services={"Urgent": SERVICE_SETTINGS}), id="a lane that nobody serves"),
        pytest.param(
            lambda: with_fleet(services={"Urgent": replace(SERVICE_SETTINGS, places={"urgent": 1})}), id="no such lane"
        ),
        pytest.param(lambda: FleetSettings(services={"urgent-1": SERVICE_SETTINGS}), id="a name of no resource"),
        pytest.param(lambda: ImageSettings(repository="worker", digest="latest"), id="an image by its tag"),
        pytest.param(
            lambda: ImageSettings(repository="example.com/worker:1", digest=f"sha256:{'a' * 64}"),
            id="a repository by its address",
        ),
        pytest.param(
            lambda: NetworkSettings(
                vpc_id="vpc-0a1b2c3d",
                subnet_ids=("subnet-0a1b2c3d",),
                availability_zones=("eu-central-1a",),
                public_addresses=True,
            ),
            id="one zone",
        ),
    ],
)
def test_settings_that_no_machine_could_keep_are_refused(change: Callable[[], object]) -> None:
    """Found while reading, rather than in a deployment that fails."""
    with pytest.raises(SettingRefused):
        change()


def test_a_lane_is_worked_off_by_the_service_with_most_places_for_it() -> None:
    """Each lane's backlog starts the machines of one service, whoever else has places for it."""
    few, many = replace(SERVICE_SETTINGS, places={"low": 1, "high": 5}), replace(SERVICE_SETTINGS, places={"low": 2})
    fleet = FleetSettings(services=MappingProxyType({"Few": few, "Many": many}))

    assert list(fleet.worked_off_by("Few")) == ["high"]
    assert list(fleet.worked_off_by("Many")) == ["low"]
    assert {lane for name in PROD.fleet.services for lane in PROD.fleet.worked_off_by(name)} == set(LANES)


def instructions(name: str) -> list[str]:
    """What stands behind an instruction of the Dockerfile, each time it stands there, continued lines joined."""
    text = DOCKER.replace("\\\n", " ")
    return [line.partition(" ")[2].strip() for line in text.splitlines() if line.startswith(f"{name} ")]


def test_the_dockerfile_starts_the_worker_itself() -> None:
    """Without a shell between, the signal to stop reaches it; the command is what a plain process is started by."""
    (entry,) = instructions("ENTRYPOINT")

    assert json.loads(entry) == ["python", "-m", "functions.fargate_worker.main"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert instructions("CMD") == []
    assert all(command.startswith("[") for command in instructions("RUN"))


def test_the_image_runs_as_nobody_and_writes_to_its_volume_alone() -> None:
    """As the machines' settings have it."""
    assert instructions("USER") == ["10001:10001"]
    assert instructions("VOLUME") == ['["/tmp"]']


def test_the_image_has_locked_packages_and_no_tools() -> None:
    """By hash, as wheels; what installed them stays in the stage before."""
    stages = DOCKER.split("FROM ${PYTHON_IMAGE}")
    (install,) = [command for command in instructions("RUN") if '"pip"' in command]

    assert len(stages) == 3
    assert '"--require-hashes"' in install
    assert '"--only-binary", ":all:"' in install
    assert "RUN" not in stages[2]


def test_the_image_is_made_of_what_is_sent_to_who_makes_it() -> None:
    """A file that is copied and not sent would be found by the first build, on somebody else's machine."""
    sources = [
        source.partition("*")[0].rstrip("/")
        for copied in instructions("COPY")
        if not copied.startswith("--")
        for source in copied.split()[:-1]
    ]

    assert sorted(sources) == sorted(COPIED)
    assert all((ROOT / source).exists() for source in sources)


# --- each check finds what it is for ------------------------------------------------------------------------------
def container_of(resources: Resources) -> Container:
    found: Container = first(resources, DEFINITION)["ContainerDefinitions"][0]
    return found


def first(resources: Resources, resource_type: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in resources.values() if each["Type"] == resource_type)["Properties"]
    return found


def deployment(resources: Resources) -> dict[str, Any]:
    found: dict[str, Any] = first(resources, SERVICE)["DeploymentConfiguration"]
    return found


def share_the_role(resources: Resources) -> None:
    definition = first(resources, DEFINITION)
    definition["TaskRoleArn"] = definition["ExecutionRoleArn"]


def protect_everybody(resources: Resources) -> None:
    for each in resources.values():
        for statement in each["Properties"].get("PolicyDocument", {}).get("Statement", []):
            if statement["Action"] == "ecs:UpdateTaskProtection":
                statement["Resource"] = "*"


def tell_the_secret(resources: Resources) -> None:
    value = "{{resolve:secretsmanager:key}}"
    container_of(resources)["Environment"].append({"Name": "TICKWRIGHT_WEBHOOK_KEY", "Value": value})


BROKEN: dict[str, Callable[[Resources], Any]] = {
    "container-user": lambda workers: container_of(workers).update(User="10001:0"),
    "container-root": lambda workers: container_of(workers).pop("ReadonlyRootFilesystem"),
    "container-rights": lambda workers: container_of(workers).update(Privileged=True),
    "container-stop": lambda workers: container_of(workers).update(StopTimeout=121),
    "container-health": lambda workers: container_of(workers).pop("HealthCheck"),
    "container-logs": lambda workers: container_of(workers).pop("LogConfiguration"),
    "container-environment": lambda workers: container_of(workers)["Environment"].pop(),
    "container-secrets": tell_the_secret,
    "container-role": share_the_role,
    "container-protection": protect_everybody,
    "service-breaker": lambda workers: deployment(workers).pop("DeploymentCircuitBreaker"),
    "service-healthy": lambda workers: deployment(workers).update(MinimumHealthyPercent=50),
    "service-shell": lambda workers: first(workers, SERVICE).update(EnableExecuteCommand=True),
    "service-door": lambda workers: first(workers, GROUP).update(SecurityGroupIngress=[{}]),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_for_containers_finds_what_breaks_it(prod: Templates, rule: str) -> None:
    """A check that cannot fail guards nothing."""
    copy = json.loads(json.dumps(prod.by_stack))
    BROKEN[rule](copy["Tickwright-prod-Workers"]["Resources"])

    assert rule in {finding.rule for finding in check_containers(Templates(copy))}


@pytest.mark.parametrize("user", ["", "root", "0", "0:0", "root:root"])
def test_root_is_found_by_each_of_its_names(prod: Templates, user: str) -> None:
    """An image that says nothing is run by root."""
    copy = json.loads(json.dumps(prod.by_stack))
    container_of(copy["Tickwright-prod-Workers"]["Resources"])["User"] = user

    assert "container-user" in {finding.rule for finding in check_containers(Templates(copy))}


def test_no_check_of_containers_is_without_a_proof() -> None:
    """Every rule name in the checks is broken once above."""
    names = {name for each in CONTAINER_CHECKS for name in each.__code__.co_consts if isinstance(name, str)}

    assert {name for name in names if re.fullmatch(r"(container|service)-[a-z-]+", name)} == set(BROKEN)


def test_the_service_settings_are_said_as_the_machine_reads_them() -> None:
    """Lane by lane, in the order of the settings."""
    settings: ServiceSettings = replace(SERVICE_SETTINGS, places={"high": 2, "low": 1})

    assert settings.places_text == "high=2,low=1"
