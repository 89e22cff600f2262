"""Who may do what: the rights in the templates are those of the one table, and none besides."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra.policy.checks import FUNCTION
from infra.policy.container_checks import DEFINITION
from infra.policy.grants import GRANTS, Resource
from infra.policy.templates import Address, Templates

# Where the logical ids of tables and queues end up in a policy, by resource.
INDEX_OF = {
    Resource.JOBS_DUE: "Jobs/index/due",
    Resource.JOBS_TENANT: "Jobs/index/tenant",
    Resource.EXECUTIONS_WAITING: "Executions/index/waiting",
    Resource.EXECUTIONS_ATTENTION: "Executions/index/attention",
    Resource.DEAD_EXECUTIONS: "QueueDeadExecutions",
    Resource.INTAKE: "QueueIntake",
    Resource.INTAKE_UNDELIVERED: "QueueIntakeUndelivered",
}
LANES = {"QueueHigh", "QueueNormal", "QueueLow", "QueueBackfill"}
FARGATE_LANES = {f"QueueFargate{lane.removeprefix('Queue')}" for lane in LANES}
QUEUES_OF = {Resource.LANES: LANES, Resource.FARGATE_LANES: FARGATE_LANES}
ALWAYS_GRANTED = {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTraceSegments", "xray:PutTelemetryRecords"}

Rights = set[tuple[str, str]]


def granted(templates: Templates, function: str) -> Rights:
    """The pairs (action, resource) that a function's role has, beside its own logs and traces."""
    (role,) = roles_of(templates, function)
    return granted_to(templates, role)


def roles_of(templates: Templates, function: str) -> list[Address]:
    """Who acts as this function: one role, but for the fleet one of each of its services, of which any will do."""
    if function == "fargate":
        definitions = templates.of_type(DEFINITION)
        roles = [(address.stack, definition["Properties"]["TaskRoleArn"]) for address, definition in definitions]
        return [Address(stack, role["Fn::GetAtt"][0]) for stack, role in roles][:1]
    return [
        Address(address.stack, resource["Properties"]["Role"]["Fn::GetAtt"][0])
        for address, resource in templates.of_type(FUNCTION)
        if resource["Properties"]["Handler"] == f"functions.{function}.handler.lambda_handler"
    ]


def granted_to(templates: Templates, role: Address) -> Rights:
    """The same of one role."""
    return {
        (action, resource)
        for statement in statements_to(templates, role)
        for action in listed(statement["Action"])
        for resource in names(templates, role.stack, statement["Resource"])
        if action not in ALWAYS_GRANTED
    }


def statements_of(templates: Templates, function: str) -> list[dict[str, Any]]:
    """What the policies of a function's role say."""
    (role,) = roles_of(templates, function)
    return statements_to(templates, role)


def statements_to(templates: Templates, role: Address) -> list[dict[str, Any]]:
    """The same of one role."""
    return [
        statement
        for address, policy in templates.of_type("AWS::IAM::Policy")
        if address.stack == role.stack and {"Ref": role.logical_id} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def listed(value: Any) -> list[Any]:  # noqa: ANN401 - a template is untyped JSON
    return value if isinstance(value, list) else [value]


def names(templates: Templates, stack: str, resources: Any) -> list[str]:  # noqa: ANN401 - a template is untyped JSON
    """The logical ids of resources, an index as `Table/index/name`."""
    found = []
    for resource in listed(resources):
        match resource:
            case {"Fn::Join": ["", [*_, str(queues)]]} if queues.endswith("-pool-*"):
                found.append(Resource.POOL_QUEUES.value)
            case {"Fn::Join": ["", [*_, ":task/", {"Ref": str()}, "/*"]]}:
                found.append(Resource.MACHINES.value)
            case {"Fn::Join": ["", [table, str(suffix)]]}:
                found.append(f"{name(templates, stack, table)}{suffix}")
            case _:
                found.append(name(templates, stack, resource))
    return found


def name(templates: Templates, stack: str, value: Any) -> str:  # noqa: ANN401 - a template is untyped JSON
    address = templates.target(stack, value)
    return address.logical_id if address is not None else str(value)


def meant(function: str) -> Rights:
    return {
        (action, resource)
        for grant in GRANTS[function]
        for action in grant.actions
        for resource in QUEUES_OF.get(grant.resource, {INDEX_OF.get(grant.resource, grant.resource.value)})
    }


def out_of_reach(function: str, keys: Rights) -> Rights:
    """Of the pairs (action, partition key in the control table) those that no grant of the function covers."""
    return {
        (action, key)
        for action, key in keys
        if not any(
            grant.resource is Resource.CONTROL and action in grant.actions and key.startswith(grant.keys or ("",))
            for grant in GRANTS[function]
        )
    }


def reach_in_control(templates: Templates, function: str) -> Rights:
    """The pairs (action, beginning of a partition key) that a function's role has on the control table."""
    (role,) = roles_of(templates, function)
    return {
        (action, pattern)
        for statement in statements_to(templates, role)
        if "Control" in names(templates, role.stack, statement["Resource"])
        for action in listed(statement["Action"])
        for pattern in patterns_of(statement)
    }


def patterns_of(statement: Mapping[str, Any]) -> list[str]:
    match statement.get("Condition"):
        case {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns},
            "Null": {"dynamodb:LeadingKeys": "false"},
        }:
            return listed(patterns)
        case None:
            return ["*"]
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("function", ["worker", "fargate"])
def test_whoever_runs_handlers_can_change_no_key_lease_or_order(prod: Templates, function: str) -> None:
    """They put logs of attempts; they read executions' payloads, what is tenants', and where epochs begin."""
    assert reach_in_control(prod, function) == {
        ("dynamodb:PutItem", "LOG#*"),
        ("dynamodb:GetItem", "BUCKET#*"),
        ("dynamodb:GetItem", "PAYLOAD#*"),
        ("dynamodb:GetItem", "TENANT#*"),
    }


@pytest.mark.parametrize(
    ("function", "beginnings", "read"),
    [
        ("scheduler", {"BUCKET#*", "TENANT#*"}, {"dynamodb:BatchGetItem", "dynamodb:GetItem"}),
        ("watch", {"REDRIVES*", "PAYLOAD#*", "TENANT#*", "BUCKET#*"}, {"dynamodb:BatchGetItem", "dynamodb:GetItem"}),
    ],
)
def test_a_loop_reaches_no_key_and_writes_nothing_of_a_tenants(
    prod: Templates, function: str, beginnings: set[str], read: set[str]
) -> None:
    """A scheduler has the leases of buckets, the watch has orders; of tenants they read calendars and pools alone."""
    reached = reach_in_control(prod, function)

    assert {pattern for _, pattern in reached} == beginnings
    assert {action for action, pattern in reached if pattern == "TENANT#*"} == read
    assert not {(action, pattern) for action, pattern in reached if pattern == "PAYLOAD#*" and "Put" in action}


def test_whoever_claims_for_tenants_reaches_what_is_theirs_alone(prod: Templates) -> None:
    """Pools, notes and seats, executions' payloads, and where epochs begin; no key, no order and no log."""
    assert reach_in_control(prod, "claim") == {
        ("dynamodb:GetItem", "BUCKET#*"),
        ("dynamodb:GetItem", "PAYLOAD#*"),
        ("dynamodb:GetItem", "TENANT#*"),
        ("dynamodb:Query", "TENANT#*"),
        ("dynamodb:PutItem", "TENANT#*"),
    }


def test_only_the_function_for_claims_receives_for_tenants_machines(prod: Templates) -> None:
    """The API makes the queues of pools; what is in them is not its business."""
    receivers = {
        function for function in GRANTS if ("sqs:ReceiveMessage", Resource.POOL_QUEUES.value) in granted(prod, function)
    }

    assert receivers == {"claim"}


@pytest.mark.parametrize("function", sorted(GRANTS))
def test_a_function_has_the_rights_of_the_table_and_no_others(prod: Templates, function: str) -> None:
    """A right that slips in through a construct's convenience method is found here."""
    assert granted(prod, function) == meant(function)


def test_the_authorizer_can_only_look_up_a_key(prod: Templates) -> None:
    """The function that every caller reaches unauthenticated can read one key at a time, and write nothing."""
    assert granted(prod, "authorizer") == {("dynamodb:GetItem", "Control")}
    assert reach_in_control(prod, "authorizer") == {("dynamodb:GetItem", "KEY#*")}


@pytest.mark.parametrize("function", sorted(GRANTS.keys() - {"authorizer"}))
def test_nobody_but_the_authorizer_reaches_an_api_key(prod: Templates, function: str) -> None:
    """Keys are made and revoked by operators: whoever takes over a function lets nobody in."""
    assert not {pattern for _, pattern in reach_in_control(prod, function) if "KEY#x".startswith(pattern.rstrip("*"))}


def test_the_api_writes_nothing_of_the_loops(prod: Templates) -> None:
    """It reads the leases of buckets, to know how many there are, and what attempts said."""
    reached = reach_in_control(prod, "api")

    assert {action for action, pattern in reached if pattern == "BUCKET#*"} == {"dynamodb:GetItem"}
    assert {pattern for _, pattern in reached} == {"BUCKET#*", "LOG#*", "PAYLOAD#*", "REDRIVES*", "TENANT#*"}


def test_only_the_scheduler_the_herd_map_and_who_tells_of_what_is_left_read_the_due_index(prod: Templates) -> None:
    """Whoever else read it would be a second opinion on what is due; the API only counts, the watch only tells."""
    readers = {function for function in GRANTS if any("due" in resource for _, resource in granted(prod, function))}

    assert readers == {"scheduler", "api", "watch"}
    by_watch = {action for action, resource in granted(prod, "watch") if "due" in resource}
    assert by_watch == {"dynamodb:Query"}


def test_nobody_scans_a_table(prod: Templates) -> None:
    """A scan reads, and pays for, everything: no access pattern needs one."""
    actions = {action for function in GRANTS for action, _ in granted(prod, function)}

    assert not {action for action in actions if "Scan" in action or "*" in action or action == "dynamodb:PartiQLSelect"}


def test_only_the_watch_may_delete_and_only_pages(prod: Templates) -> None:
    """Whoever takes over the API or a worker can destroy no record."""
    deleters = {
        function: {resource for action, resource in granted(prod, function) if action == "dynamodb:DeleteItem"}
        for function in GRANTS
    }

    assert deleters == {
        "api": set(),
        "authorizer": set(),
        "claim": set(),
        "fargate": set(),
        "intake": set(),
        "scheduler": set(),
        "watch": {"Journal"},
        "worker": set(),
    }


def test_each_function_has_its_own_role(prod: Templates) -> None:
    """Rights that are shared are rights that somebody does not need."""
    roles: Mapping[str, str] = {
        resource["Properties"]["Handler"]: str(prod.target(address.stack, resource["Properties"]["Role"]))
        for address, resource in prod.of_type(FUNCTION)
    }

    machines = [
        str(prod.target(address.stack, resource["Properties"]["TaskRoleArn"]))
        for address, resource in prod.of_type(DEFINITION)
    ]

    everybody = [*roles.values(), *machines]
    assert len(set(everybody)) == len(everybody)
    assert len(roles) == len(GRANTS.keys() - {"fargate"})
