"""What there is in the account: asked before a deploy and after a destroy, so that what is left can be told.

Must not know what an installation is made of: whatever the local AWS lists counts.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.emulators.clients import aws_client

Asked = Callable[[Any], list[str]]


def _names(operation: str, member: str, key: str | None = None, **given: object) -> Asked:
    """One list of one service: its members, by one of theirs, or as they are."""

    def ask(client: Any) -> list[str]:  # noqa: ANN401 - any service
        found = getattr(client, operation)(**given).get(member, [])
        return [str(one if key is None else one[key]) for one in found]

    return ask


def _stacks(client: Any) -> list[str]:  # noqa: ANN401 - a client of CloudFormation
    found = client.list_stacks()["StackSummaries"]
    return [str(stack["StackName"]) for stack in found if stack["StackStatus"] != "DELETE_COMPLETE"]


_LISTS: Mapping[str, tuple[str, Asked]] = {
    "stacks": ("cloudformation", _stacks),
    "tables": ("dynamodb", _names("list_tables", "TableNames")),
    "queues": ("sqs", _names("list_queues", "QueueUrls")),
    "functions": ("lambda", _names("list_functions", "Functions", "FunctionName", MaxItems=50)),
    "layers": ("lambda", _names("list_layers", "Layers", "LayerArn")),
    "mappings": ("lambda", _names("list_event_source_mappings", "EventSourceMappings", "UUID")),
    "rules": ("events", _names("list_rules", "Rules", "Name")),
    "apis": ("apigateway", _names("get_rest_apis", "items", "id")),
    "secrets": ("secretsmanager", _names("list_secrets", "SecretList", "Name")),
    "clusters": ("ecs", _names("list_clusters", "clusterArns")),
    "task definitions": ("ecs", _names("list_task_definitions", "taskDefinitionArns", status="ACTIVE")),
    "networks": ("ec2", _names("describe_vpcs", "Vpcs", "VpcId")),
    "roles": ("iam", _names("list_roles", "Roles", "RoleName")),
    "log groups": ("logs", _names("describe_log_groups", "logGroups", "logGroupName")),
    "alarms": ("cloudwatch", _names("describe_alarms", "MetricAlarms", "AlarmName")),
    "dashboards": ("cloudwatch", _names("list_dashboards", "DashboardEntries", "DashboardName")),
    "topics": ("sns", _names("list_topics", "Topics", "TopicArn")),
}


def inventory(endpoint: str) -> dict[str, frozenset[str]]:
    """Everything, by kind."""
    return {kind: frozenset(ask(aws_client(service, endpoint))) for kind, (service, ask) in _LISTS.items()}


def more(before: Mapping[str, frozenset[str]], now: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """What is there now and was not before; kinds without any are left out."""
    found = {kind: sorted(now[kind] - before[kind]) for kind in now}
    return {kind: names for kind, names in found.items() if names}
