"""The functions: their environment, their handlers, what they may use and what is kept of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra.environment import CLAIM_SEATS, LOG_GROUPS, PAGE_SECRET, variables_of
from infra.policy.checks import FUNCTION
from infra.policy.container_checks import DEFINITION
from infra.policy.templates import Address, Templates
from infra.settings import LANES, STAGES
from tests.infra.handlers import containers
from tickwright.domain import lanes as domain_lanes

NAMES = ("api", "authorizer", "claim", "intake", "scheduler", "watch", "worker")
LOG_GROUP = "AWS::Logs::LogGroup"


def functions_of(templates: Templates) -> Mapping[str, Mapping[str, Any]]:
    """The properties of every function, by its folder's name."""
    return {
        resource["Properties"]["Handler"].split(".")[1]: resource["Properties"]
        for _, resource in templates.of_type(FUNCTION)
    }


def test_there_is_a_function_for_every_folder(dev: Templates) -> None:
    """Seven functions: none is forgotten and none is left over."""
    assert sorted(functions_of(dev)) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_handler_string_imports(dev: Templates, name: str) -> None:
    """A handler that Lambda cannot import fails at the first invocation, in production."""
    function = functions_of(dev)[name]
    _, _, attribute = function["Handler"].rpartition(".")
    given_by_lambda = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "eu-central-1"}
    environment = function["Environment"]["Variables"] | given_by_lambda

    # What AWS fills in while deploying is any text here.
    with containers({key: value if isinstance(value, str) else key for key, value in environment.items()}) as started:
        handler = getattr(started.module(name), attribute)

    assert callable(handler)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_gets_the_agreed_variables(dev: Templates, name: str) -> None:
    """The product's settings read these names; a misspelt one is found here and not by the first invocation."""
    variables = functions_of(dev)[name]["Environment"]["Variables"]

    assert tuple(variables) == variables_of(name)
    assert variables["POWERTOOLS_SERVICE_NAME"] == name


@pytest.mark.sem("SEM-LOG-1")
@pytest.mark.parametrize("stage", STAGES)
def test_the_api_is_told_where_every_worker_logs(stages: Mapping[str, Templates], stage: str) -> None:
    """The worker's log group, one of each service of the fleet, and that of the function which claims for tenants."""
    templates = stages[stage]
    value = functions_of(templates)["api"]["Environment"]["Variables"][LOG_GROUPS]
    (api,) = {address.stack for address, _ in templates.of_type("AWS::ApiGateway::RestApi")}
    _, parts = value["Fn::Join"]

    named = [templates.target(api, part) for part in parts[::2]]
    groups = {log_group_of(templates, name) for name in ("worker", "claim")} | fleets_log_groups(templates)

    assert set(parts[1::2]) == {","}
    assert set(named) == groups
    assert len(named) == len(groups) == 2 + len(STAGES[stage].fleet.services)
    assert groups <= {address for address, _ in templates.of_type(LOG_GROUP)}


def log_group_of(templates: Templates, name: str) -> Address:
    """Where a function logs."""
    (found,) = {
        templates.target(address.stack, resource["Properties"]["LoggingConfig"]["LogGroup"])
        for address, resource in templates.of_type(FUNCTION)
        if resource["Properties"]["Handler"].split(".")[1] == name
    }
    assert found is not None
    return found


def fleets_log_groups(templates: Templates) -> set[Address]:
    """Where the fleet's machines log."""
    found = {
        templates.target(address.stack, container["LogConfiguration"]["Options"]["awslogs-group"])
        for address, definition in templates.of_type(DEFINITION)
        for container in definition["Properties"]["ContainerDefinitions"]
    }
    return {group for group in found if group is not None}


def test_the_secret_of_page_tokens_is_in_no_template(dev: Templates) -> None:
    """Made and kept by AWS, resolved while deploying."""
    value = functions_of(dev)["api"]["Environment"]["Variables"][PAGE_SECRET]

    assert value["Fn::Join"][1][0] == "{{resolve:secretsmanager:"


def test_zone_rules_come_from_the_pinned_package_alone(dev: Templates) -> None:
    """Lambda's own zone files differ from those of other machines."""
    assert {function["Environment"]["Variables"]["PYTHONTZPATH"] for function in functions_of(dev).values()} == {""}


def test_the_lanes_of_the_infrastructure_are_those_of_the_domain() -> None:
    """A lane without a queue would swallow its jobs."""
    assert tuple(lane.value for lane in domain_lanes.LANES) == LANES


@pytest.mark.parametrize("stage", STAGES)
def test_every_function_has_a_decision_on_concurrency(stages: Mapping[str, Templates], stage: str) -> None:
    """A reservation, or on purpose none; the settings say which, and the template follows."""
    settings = STAGES[stage]

    reserved = {
        name: function.get("ReservedConcurrentExecutions") for name, function in functions_of(stages[stage]).items()
    }

    assert reserved == {name: function.reserved_concurrency for name, function in settings.functions.items()}


def test_the_loops_of_prod_have_reservations(prod: Templates) -> None:
    """A herd of API calls or executions must not take the place of the loops that make time pass."""
    functions = functions_of(prod)

    assert functions["scheduler"]["ReservedConcurrentExecutions"] >= 4
    assert functions["watch"]["ReservedConcurrentExecutions"] >= 2


@pytest.mark.sem("SEM-POOL-5")
@pytest.mark.parametrize("stage", STAGES)
def test_the_function_for_claims_is_told_how_many_of_a_tenant_may_wait(
    stages: Mapping[str, Templates], stage: str
) -> None:
    """As the stage says; and where it has room of its own, no tenant's idle machines fill that."""
    claim = functions_of(stages[stage])["claim"]
    seats = int(claim["Environment"]["Variables"][CLAIM_SEATS])

    assert seats == STAGES[stage].claim_seats
    assert 2 * seats <= claim.get("ReservedConcurrentExecutions", STAGES[stage].account_concurrency)


@pytest.mark.parametrize("stage", ["staging", "prod"])
def test_claims_that_wait_leave_the_api_its_room(stages: Mapping[str, Templates], stage: str) -> None:
    """They can use up their own reservation and no more; what nobody has reserved is the API's and the authorizer's."""
    functions, settings = functions_of(stages[stage]), STAGES[stage]
    reserved = {
        name: function["ReservedConcurrentExecutions"]
        for name, function in functions.items()
        if "ReservedConcurrentExecutions" in function
    }

    assert reserved["claim"] >= 2
    assert reserved.keys().isdisjoint({"api", "authorizer"})
    assert settings.account_concurrency - sum(reserved.values()) >= reserved["claim"]


def test_only_the_worker_may_send_to_what_feeds_it(dev: Templates) -> None:
    """Lambda stops a chain of sends after about 16 hops; the worker's end with the attempts that the store counts."""
    allowed = {name for name, function in functions_of(dev).items() if function["RecursiveLoop"] == "Allow"}

    assert allowed == {"worker"}


def test_every_function_runs_on_the_machine_its_wheels_are_for(dev: Templates) -> None:
    """One runtime and one architecture for functions and layers."""
    runtimes = {(function["Runtime"], *function["Architectures"]) for function in functions_of(dev).values()}
    layers = {
        (*layer["Properties"]["CompatibleRuntimes"], *layer["Properties"]["CompatibleArchitectures"])
        for _, layer in dev.of_type("AWS::Lambda::LayerVersion")
    }

    assert runtimes == layers == {("python3.13", "arm64")}


def test_no_stack_imports_the_layers_of_another(dev: Templates) -> None:
    """CloudFormation refuses to replace what another stack imports, and a layer is replaced at each change."""
    for address, function in dev.of_type(FUNCTION):
        layers = [dev.target(address.stack, layer) for layer in function["Properties"]["Layers"]]

        assert [layer.stack for layer in layers if layer is not None] == [address.stack, address.stack]


@pytest.mark.parametrize("stage", STAGES)
def test_every_log_ends(stages: Mapping[str, Templates], stage: str) -> None:
    """Logs without an end are a bill without an end."""
    retention = {
        group["Properties"].get("RetentionInDays") for _, group in stages[stage].of_type("AWS::Logs::LogGroup")
    }

    assert retention == {STAGES[stage].log_retention_days}
