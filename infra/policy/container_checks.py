"""What every container of the product has to keep to, beyond what the rule packs know.

As in checks.py: one function a rule, judged by what is in the templates of a stage.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from infra.environment import variables_of
from infra.fleet_settings import STOP_S_MAX, STOP_S_MIN
from infra.policy.checks import RIGHT_ON_MACHINES, Finding, statements
from infra.policy.templates import Address, Templates

DEFINITION = "AWS::ECS::TaskDefinition"
SERVICE = "AWS::ECS::Service"
GROUP = "AWS::EC2::SecurityGroup"
# Names of whom a container may not be: the user of an image that says nothing is root too.
_ROOTS = frozenset({"", "0", "root"})

Check = Callable[[Templates], Iterator[Finding]]


def containers_are_closed(templates: Templates) -> Iterator[Finding]:
    """Not root, a root file system that is read, no rights beyond a container's own."""
    for address, container in _containers(templates):
        user, _, group = str(container.get("User", "")).partition(":")
        if user in _ROOTS or group in _ROOTS:
            yield Finding("container-user", str(address), "may run as root, or as one of its group")
        if container.get("ReadonlyRootFilesystem") is not True:
            yield Finding("container-root", str(address), "can write to its own image")
        if container.get("Privileged") or container.get("LinuxParameters", {}).get("Capabilities", {}).get("Add"):
            yield Finding("container-rights", str(address), "has rights over its machine")


def containers_end_well(templates: Templates) -> Iterator[Finding]:
    """A stop that Fargate takes, a probe, and a log that ends."""
    for address, container in _containers(templates):
        if not STOP_S_MIN <= container.get("StopTimeout", 0) <= STOP_S_MAX:
            yield Finding("container-stop", str(address), f"has no stop of {STOP_S_MIN} to {STOP_S_MAX} s")
        if "HealthCheck" not in container:
            yield Finding("container-health", str(address), "is not asked whether it still answers")
        options = container.get("LogConfiguration", {}).get("Options", {})
        group = templates.target(address.stack, options.get("awslogs-group"))
        if group is None or "RetentionInDays" not in templates.properties(group):
            yield Finding("container-logs", str(address), "has no log group of its own with a retention")


def containers_have_the_environment(templates: Templates) -> Iterator[Finding]:
    """Exactly the agreed variables, and what is secret by reference."""
    for address, container in _containers(templates):
        plain = {variable["Name"]: variable["Value"] for variable in container.get("Environment", [])}
        secret = {variable["Name"] for variable in container.get("Secrets", [])}
        odd = sorted((set(plain) | secret) ^ set(variables_of("fargate")))
        if odd:
            yield Finding("container-environment", str(address), f"differs from the agreed variables by {odd}")
        told = sorted(name for name, value in plain.items() if "secretsmanager" in str(value))
        if told:
            yield Finding("container-secrets", str(address), f"shows {told} to whoever may describe it")


def definitions_have_two_roles(templates: Templates) -> Iterator[Finding]:
    """Whoever starts a container can do what the container cannot: pull its image, read its secrets."""
    for address, definition in templates.of_type(DEFINITION):
        properties = definition["Properties"]
        if properties.get("TaskRoleArn") in (None, properties.get("ExecutionRoleArn")):
            yield Finding("container-role", str(address), "has no role of its own")


def machines_protect_their_own(templates: Templates) -> Iterator[Finding]:
    """The right names the machines of one cluster, and nothing else goes with it."""
    for address, statement in statements(templates):
        if RIGHT_ON_MACHINES not in statement["Action"]:
            continue
        match statement["Action"], statement["Resource"]:
            case str(), {"Fn::Join": ["", [*_, ":task/", {"Ref": str()}, "/*"]]}:
                pass
            case _:
                yield Finding("container-protection", str(address), f"protects {statement['Resource']}")


def services_are_replaced_safely(templates: Templates) -> Iterator[Finding]:
    """New ones first, back to the old ones if the new do not start, and no shell into them."""
    for address, service in templates.of_type(SERVICE):
        deployment = service["Properties"].get("DeploymentConfiguration", {})
        breaker = deployment.get("DeploymentCircuitBreaker", {})
        if not (breaker.get("Enable") and breaker.get("Rollback")):
            yield Finding("service-breaker", str(address), "goes on with a deployment that does not start")
        if deployment.get("MinimumHealthyPercent", 0) < 100:
            yield Finding("service-healthy", str(address), "takes places away while it is deployed")
        if service["Properties"].get("EnableExecuteCommand"):
            yield Finding("service-shell", str(address), "lets people into its containers")


def nobody_is_let_in(templates: Templates) -> Iterator[Finding]:
    """Machines ask; nothing asks them, so no group has a way in."""
    for address, group in templates.of_type(GROUP):
        if group["Properties"].get("SecurityGroupIngress"):
            yield Finding("service-door", str(address), "lets connections in")
    for address, _ in templates.of_type("AWS::EC2::SecurityGroupIngress"):
        yield Finding("service-door", str(address), "lets connections in")


CONTAINER_CHECKS: tuple[Check, ...] = (
    containers_are_closed,
    containers_end_well,
    containers_have_the_environment,
    definitions_have_two_roles,
    machines_protect_their_own,
    services_are_replaced_safely,
    nobody_is_let_in,
)


def check_containers(templates: Templates) -> list[Finding]:
    """Everything that breaks a rule of the house for containers."""
    return [finding for rule in CONTAINER_CHECKS for finding in rule(templates)]


def _containers(templates: Templates) -> Iterator[tuple[Address, Mapping[str, Any]]]:
    for address, definition in templates.of_type(DEFINITION):
        for container in definition["Properties"]["ContainerDefinitions"]:
            yield address, container
