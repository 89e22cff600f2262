"""What whoever runs executions may call for a tenant: the resources that the stage's settings allow, and no others.

The product refuses what a tenant may not name (TICKWRIGHT_TARGETS); these rights bound all tenants together. Must not
know a tenant.
"""

from collections.abc import Iterator

from aws_cdk import aws_iam as iam

from infra.policy.checks import SID_OF_TARGETS
from infra.stage_settings import Settings, arns_among

# The service in an ARN, and what starting a run there takes.
ACTIONS = {
    "lambda": ("lambda:InvokeFunction",),
    "sqs": ("sqs:SendMessage",),
    "events": ("events:PutEvents",),
    "states": ("states:StartExecution",),
    "ecs": ("ecs:RunTask",),
}


def target_statements(settings: Settings) -> Iterator[iam.PolicyStatement]:
    """A statement for each service that a pattern names; none where the stage allows no targets."""
    listed = {pattern for patterns in settings.targets.values() for pattern in patterns}
    patterns = sorted(arns_among(listed))
    for service, actions in ACTIONS.items():
        named = [pattern for pattern in patterns if _service(pattern) == service and ":cluster/" not in pattern]
        if named:
            sid = f"{SID_OF_TARGETS}{service.capitalize()}"
            yield iam.PolicyStatement(
                sid=sid, actions=list(actions), resources=named, conditions=_where(service, patterns)
            )
    if settings.target_roles:
        # Starting a container hands it the roles of its task definition.
        yield iam.PolicyStatement(
            sid=f"{SID_OF_TARGETS}Roles",
            actions=["iam:PassRole"],
            resources=list(settings.target_roles),
            conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
        )


def _where(service: str, patterns: list[str]) -> dict[str, dict[str, list[str]]] | None:
    """A container is started in the clusters that are allowed as well."""
    clusters = [pattern for pattern in patterns if _service(pattern) == "ecs" and ":cluster/" in pattern]
    return {"ArnLike": {"ecs:cluster": clusters}} if service == "ecs" and clusters else None


def _service(pattern: str) -> str:
    return pattern.split(":")[2]
