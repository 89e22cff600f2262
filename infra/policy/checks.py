"""What every template of the product has to keep to, beyond what the rule packs know.

One function a rule; each takes all templates of a stage and yields what breaks it. Must not know settings: a template
is judged by what is in it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from infra.environment import variables_of
from infra.policy.templates import Address, Templates

# Lambda and SQS ask for six function timeouts and the batching window.
VISIBILITY_PER_TIMEOUT = 6
# A provisioned poller has so many invocations under way.
INVOCATIONS_PER_POLLER = 10
# No function receives from it: copies of dead executions, for people.
UNRECEIVED_QUEUES = frozenset({"QueueDeadExecutions", "QueuePoolsUndelivered"})
# What tenants' pools' queues are called: they are made while the installation runs, so no template names them.
POOL_QUEUES = "-pool-*"
# These rights know no resources.
RIGHTS_ON_EVERYTHING = frozenset(
    {
        "xray:PutTraceSegments",
        "xray:PutTelemetryRecords",
        # Signing in to the account's registry; what may be pulled from it is named.
        "ecr:GetAuthorizationToken",
    }
)
# Machines come and go, so they are named by their cluster (container_checks.py).
RIGHT_ON_MACHINES = "ecs:UpdateTaskProtection"
RIGHTS_WITHOUT_NAMES = RIGHTS_ON_EVERYTHING | {RIGHT_ON_MACHINES}

# It says "Unauthorized" by raising, as API Gateway asks it to: its errors are the callers' (infra/stacks/api.py counts
# its own).
REFUSES_BY_FAILING = frozenset({"authorizer"})
# Each failure of these is an answer 5xx to somebody.
ANSWER_REQUESTS = frozenset({"api", "claim"})

# The rights that follow the targets a stage allows (infra/constructs/target_rights.py).
SID_OF_TARGETS = "Target"

FUNCTION = "AWS::Lambda::Function"
QUEUE = "AWS::SQS::Queue"
TABLE = "AWS::DynamoDB::GlobalTable"
MAPPING = "AWS::Lambda::EventSourceMapping"


class Finding(NamedTuple):
    """A rule that a resource breaks."""

    rule: str
    where: str
    message: str


Check = Callable[[Templates], Iterator[Finding]]


def queues_have_dead_letters(templates: Templates) -> Iterator[Finding]:
    """A hint that nobody can take ends where somebody looks."""
    receivers = {
        templates.target(address.stack, queue["Properties"]["RedrivePolicy"]["deadLetterTargetArn"])
        for address, queue in templates.of_type(QUEUE)
        if "RedrivePolicy" in queue["Properties"]
    }
    for address, queue in templates.of_type(QUEUE):
        exempt = address in receivers or address.logical_id in UNRECEIVED_QUEUES
        if not exempt and "RedrivePolicy" not in queue["Properties"]:
            yield Finding("queue-dead-letters", str(address), "has no dead-letter queue")


def queues_are_closed(templates: Templates) -> Iterator[Finding]:
    """Encrypted at rest, by SQS or with a key of one's own, and no request without TLS."""
    guarded = {
        templates.target(address.stack, queue)
        for address, policy in templates.of_type("AWS::SQS::QueuePolicy")
        for queue in policy["Properties"]["Queues"]
        if "aws:SecureTransport" in str(policy["Properties"]["PolicyDocument"])
    }
    for address, queue in templates.of_type(QUEUE):
        if not {"SqsManagedSseEnabled", "KmsMasterKeyId"} & {name for name, on in queue["Properties"].items() if on}:
            yield Finding("queue-encrypted", str(address), "is not encrypted")
        if address not in guarded:
            yield Finding("queue-tls", str(address), "takes requests without TLS")


def visibility_outlasts_the_worker(templates: Templates) -> Iterator[Finding]:
    """Six timeouts and the window: a batch that is being worked on is not given to another."""
    for address, mapping in templates.of_type(MAPPING):
        properties = mapping["Properties"]
        function = _must(templates.target(address.stack, properties["FunctionName"]))
        queue = _must(templates.target(address.stack, properties["EventSourceArn"]))
        least = VISIBILITY_PER_TIMEOUT * templates.properties(function)["Timeout"]
        least += properties["MaximumBatchingWindowInSeconds"]
        visible_after = templates.properties(queue).get("VisibilityTimeout", 30)
        if visible_after < least:
            yield Finding("queue-visibility", str(queue), f"hides a message for {visible_after} s, not {least} s")


def mappings_report_each_message(templates: Templates) -> Iterator[Finding]:
    """One bad message does not send its nine neighbours round again, and a lane cannot take all workers."""
    for address, mapping in templates.of_type(MAPPING):
        if "ReportBatchItemFailures" not in mapping["Properties"].get("FunctionResponseTypes", []):
            yield Finding("mapping-partial", str(address), "fails a batch as a whole")
        given = ("MaximumConcurrency" in mapping["Properties"].get("ScalingConfig", {})) + (
            "MaximumPollers" in mapping["Properties"].get("ProvisionedPollerConfig", {})
        )
        if given != 1:
            yield Finding("mapping-concurrency", str(address), "has no bound, or two")


def reservations_cover_mappings(templates: Templates) -> Iterator[Finding]:
    """Less than the mappings ask for becomes throttles, which use up receive counts."""
    asked: dict[Address, int] = {}
    for address, mapping in templates.of_type(MAPPING):
        function = _must(templates.target(address.stack, mapping["Properties"]["FunctionName"]))
        scaling = mapping["Properties"].get("ScalingConfig", {})
        pollers = mapping["Properties"].get("ProvisionedPollerConfig", {})
        most = scaling.get("MaximumConcurrency", 0) + INVOCATIONS_PER_POLLER * pollers.get("MaximumPollers", 0)
        asked[function] = asked.get(function, 0) + most
    for function, most in asked.items():
        reserved = templates.properties(function).get("ReservedConcurrentExecutions")
        if reserved is not None and reserved < most:
            yield Finding(
                "function-reservation", str(function), f"has {reserved} reserved, its mappings ask for {most}"
            )


def functions_say_all(templates: Templates) -> Iterator[Finding]:
    """Timeout, memory, a log group of its own with an end, a role of its own, tracing: nothing by default."""
    roles: list[Address] = []
    for address, function in templates.of_type(FUNCTION):
        properties = function["Properties"]
        for name in ("Timeout", "MemorySize", "Role", "Architectures", "RecursiveLoop"):
            if name not in properties:
                yield Finding("function-explicit", str(address), f"leaves {name} to its default")
        if properties.get("TracingConfig", {}).get("Mode") != "Active":
            yield Finding("function-tracing", str(address), "is not traced")
        group = templates.target(address.stack, properties.get("LoggingConfig", {}).get("LogGroup"))
        if group is None or "RetentionInDays" not in templates.properties(group):
            yield Finding("function-logs", str(address), "has no log group of its own with a retention")
        roles.append(_must(templates.target(address.stack, properties["Role"])))
    for shared in {role for role in roles if roles.count(role) > 1}:
        yield Finding("function-role", str(shared), "is shared by functions")


def logs_end(templates: Templates) -> Iterator[Finding]:
    """Nothing is kept for ever because nobody said for how long."""
    for address, group in templates.of_type("AWS::Logs::LogGroup"):
        if "RetentionInDays" not in group.get("Properties", {}):
            yield Finding("logs-retention", str(address), "is kept for ever")


def functions_have_the_environment(templates: Templates) -> Iterator[Finding]:
    """Exactly the agreed variables: a misspelt one would be found by the first invocation only."""
    for address, function in templates.of_type(FUNCTION):
        variables = function["Properties"].get("Environment", {}).get("Variables", {})
        # It would strip the assertions that the product relies on.
        if "PYTHONOPTIMIZE" in variables:
            yield Finding("function-assertions", str(address), "sets PYTHONOPTIMIZE")
        agreed = set(variables_of(function["Properties"]["Handler"].split(".")[1]))
        if set(variables) != agreed:
            odd = sorted(set(variables) ^ agreed)
            yield Finding("function-environment", str(address), f"differs from the agreed variables by {odd}")


def minutes_are_not_repeated(templates: Templates) -> Iterator[Finding]:
    """What a rule invokes is invoked once per minute: old events and second tries only add load."""
    once = set()
    for address, config in templates.of_type("AWS::Lambda::EventInvokeConfig"):
        if config["Properties"].get("MaximumRetryAttempts") == 0:
            function = templates.target(address.stack, config["Properties"]["FunctionName"])
            once.add((function, templates.qualifier(address.stack, config["Properties"]["Qualifier"])))
    for address, rule in templates.of_type("AWS::Events::Rule"):
        for target in rule["Properties"]["Targets"]:
            invoked = templates.target(address.stack, target["Arn"]), templates.qualifier(address.stack, target["Arn"])
            if invoked not in once:
                yield Finding("minute-retries", str(address), "invokes a function that is tried again")
            if target.get("RetryPolicy", {}).get("MaximumRetryAttempts") != 0:
                yield Finding("minute-retries", str(address), "delivers a minute more than once")


def rights_are_named(templates: Templates) -> Iterator[Finding]:
    """No action and no resource with a wildcard, but where no name can be said, and the names of targets."""
    for address, statement in statements(templates):
        actions = _listed(statement["Action"])
        if any("*" in str(action) for action in actions):
            yield Finding("rights-actions", str(address), f"grants {actions}")
        may_be_open = set(map(str, actions)) <= RIGHTS_WITHOUT_NAMES or _is_of_targets(statement)
        if "*" in _but_pools(statement["Resource"]) and not may_be_open:
            yield Finding("rights-resources", str(address), f"grants {actions} on {statement['Resource']}")
    for address, role in templates.of_type("AWS::IAM::Role"):
        if role["Properties"].get("Policies"):
            yield Finding("rights-inline", str(address), "has rights outside its policy")


def targets_say_where_they_are(templates: Templates) -> Iterator[Finding]:
    """What a stage lets targets name may leave the end of a name open, never its service, region or account."""
    for address, statement in statements(templates):
        for resource in map(str, _listed(statement["Resource"]) if _is_of_targets(statement) else ()):
            *place, name = resource.split(":", 5)
            if "*" in "".join(place) or name.startswith("*"):
                yield Finding("rights-targets", str(address), f"grants {statement['Action']} on {resource}")


def _but_pools(resources: object) -> str:
    """What a statement names, without the one open end that is meant: it is said whose queues they are."""
    return str(resources).replace(POOL_QUEUES, "")


def truth_can_be_recovered(templates: Templates) -> Iterator[Finding]:
    """Every table can be taken back to any second; where it outlives its stack, nobody deletes it by mistake."""
    for address, table in templates.of_type(TABLE):
        replica = table["Properties"]["Replicas"][0]
        if not replica.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled"):
            yield Finding("table-recovery", str(address), "has no point-in-time recovery")
        retained = table.get("DeletionPolicy") == "Retain" and table.get("UpdateReplacePolicy") == "Retain"
        if retained != bool(replica.get("DeletionProtectionEnabled")):
            yield Finding("table-protection", str(address), "is retained or protected, not both")


CHECKS: tuple[Check, ...] = (
    queues_have_dead_letters,
    queues_are_closed,
    visibility_outlasts_the_worker,
    mappings_report_each_message,
    reservations_cover_mappings,
    functions_say_all,
    logs_end,
    functions_have_the_environment,
    minutes_are_not_repeated,
    rights_are_named,
    targets_say_where_they_are,
    truth_can_be_recovered,
)


def check(templates: Templates) -> list[Finding]:
    """Everything that breaks a rule of the house."""
    return [finding for rule in CHECKS for finding in rule(templates)]


def _must(address: Address | None) -> Address:
    """A reference that cannot be followed is a hole in the checks, not a pass."""
    assert address is not None
    return address


def _is_of_targets(statement: Mapping[str, Any]) -> bool:
    return str(statement.get("Sid", "")).startswith(SID_OF_TARGETS)


def statements(templates: Templates) -> Iterator[tuple[Address, Mapping[str, Any]]]:
    """Every statement of every policy."""
    for address, policy in templates.of_type("AWS::IAM::Policy"):
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            yield address, statement


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
