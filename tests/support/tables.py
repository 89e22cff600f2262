"""Which tables and queues a test gets: those of the synthesised templates, so that what is tested is what is deployed.

Must not repeat a key, an index or a timeout: infra/ says them once. A template is synthesised once per state of infra/
and kept in .build/, since most tests run without Node.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_ROOT = Path(__file__).resolve().parents[2]
_KEPT = _ROOT / ".build" / "templates"
_STAGE = "dev"
# Logical ids, which infra/ fixes, by role.
_TABLES = {"jobs": "Jobs", "executions": "Executions", "journal": "Journal", "control": "Control"}
_QUEUES = {
    "high": "QueueHigh",
    "normal": "QueueNormal",
    "low": "QueueLow",
    "backfill": "QueueBackfill",
    "fargate-high": "QueueFargateHigh",
    "fargate-normal": "QueueFargateNormal",
    "fargate-low": "QueueFargateLow",
    "fargate-backfill": "QueueFargateBackfill",
    "dead": "QueueDeadExecutions",
    "pools-undelivered": "QueuePoolsUndelivered",
    "intake": "QueueIntake",
    "intake-undelivered": "QueueIntakeUndelivered",
    "high-undelivered": "QueueHighUndelivered",
    "normal-undelivered": "QueueNormalUndelivered",
    "low-undelivered": "QueueLowUndelivered",
    "backfill-undelivered": "QueueBackfillUndelivered",
    "fargate-high-undelivered": "QueueFargateHighUndelivered",
    "fargate-normal-undelivered": "QueueFargateNormalUndelivered",
    "fargate-low-undelivered": "QueueFargateLowUndelivered",
    "fargate-backfill-undelivered": "QueueFargateBackfillUndelivered",
}
# What changes how a queue behaves; encryption and tags do not, and not every engine knows them.
_QUEUE_ATTRIBUTES: "tuple[QueueAttributeNameType, ...]" = (
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "MaximumMessageSize",
    "ReceiveMessageWaitTimeSeconds",
    "DelaySeconds",
)


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """One queue: its role, its attributes as SQS takes them, and where it sends what nobody could take."""

    role: str
    attributes: "dict[QueueAttributeNameType, str]"
    dead_letter_role: str | None
    max_receive_count: int | None


def create_tables(client: "DynamoDBClient", *, prefix: str) -> dict[str, str]:
    """Create the tables on any endpoint; their names (prefix + role) by role: jobs, executions, journal, control."""
    names = {}
    for role, request in table_definitions().items():
        name = f"{prefix}{role}"
        ttl = request.pop("TimeToLive", None)
        client.create_table(TableName=name, **request)
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
        if ttl is not None:
            client.update_time_to_live(TableName=name, TimeToLiveSpecification={"AttributeName": ttl, "Enabled": True})
        names[role] = name
    return names


def create_queues(client: "SQSClient", *, prefix: str) -> dict[str, str]:
    """Create the lanes' queues, their dead-letter queues and `dead`; their URLs by role."""
    urls: dict[str, str] = {}
    for queue in sorted(queue_definitions().values(), key=lambda queue: queue.dead_letter_role is not None):
        attributes: dict[QueueAttributeNameType, str] = dict(queue.attributes)
        if queue.dead_letter_role is not None:
            arn = arn_of(client, urls[queue.dead_letter_role])
            attributes["RedrivePolicy"] = json.dumps(
                {"deadLetterTargetArn": arn, "maxReceiveCount": queue.max_receive_count}
            )
        urls[queue.role] = client.create_queue(QueueName=f"{prefix}{queue.role}", Attributes=attributes)["QueueUrl"]
    return urls


def arn_of(client: "SQSClient", url: str) -> str:
    """The name of a queue among all of AWS."""
    asked = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return asked["Attributes"]["QueueArn"]


def table_definitions() -> dict[str, dict[str, Any]]:
    """By role what CreateTable takes, and as `TimeToLive` the attribute that says when an item may go."""
    resources = _resources("Data")
    return {role: _table(resources[logical_id]["Properties"]) for role, logical_id in _TABLES.items()}


def queue_definitions() -> dict[str, QueueDefinition]:
    """Every queue of the installation by role.

    The lanes by name, of the fleet as `fargate-<lane>`, `<role>-undelivered`, `pools-undelivered`, `intake`, `dead`.
    """
    resources = _resources("Core")
    return {role: _queue(role, resources[logical_id]["Properties"]) for role, logical_id in _QUEUES.items()}


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    request = {
        "KeySchema": properties["KeySchema"],
        "AttributeDefinitions": properties["AttributeDefinitions"],
        "BillingMode": properties["BillingMode"],
    }
    indexes = [
        {key: index[key] for key in ("IndexName", "KeySchema", "Projection")}
        for index in properties.get("GlobalSecondaryIndexes", [])
    ]
    if indexes:
        request["GlobalSecondaryIndexes"] = indexes
    if "TimeToLiveSpecification" in properties:
        request["TimeToLive"] = properties["TimeToLiveSpecification"]["AttributeName"]
    return request


def _queue(role: str, properties: dict[str, Any]) -> QueueDefinition:
    redrive = properties.get("RedrivePolicy")
    roles = {logical_id: role for role, logical_id in _QUEUES.items()}
    return QueueDefinition(
        role=role,
        attributes={name: str(properties[name]) for name in _QUEUE_ATTRIBUTES if name in properties},
        dead_letter_role=roles[redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]] if redrive else None,
        max_receive_count=int(redrive["maxReceiveCount"]) if redrive else None,
    )


def _resources(stack: str) -> dict[str, Any]:
    template: dict[str, Any] = json.loads(_template_text(stack))
    resources: dict[str, Any] = template["Resources"]
    return resources


@cache
def _template_text(stack: str) -> str:
    kept = _KEPT / _state_of_infra()
    if not kept.exists():
        _synthesise(kept)
    return (kept / f"Tickwright-{_STAGE}-{stack}.template.json").read_text(encoding="utf-8")


def _state_of_infra() -> str:
    """A name for everything that the templates follow from."""
    digest = hashlib.sha256(version("aws-cdk-lib").encode())
    for path in (_ROOT / "app.py", _ROOT / "cdk.json", *sorted((_ROOT / "infra").rglob("*.py"))):
        digest.update(f"\n{path.relative_to(_ROOT)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _synthesise(kept: Path) -> None:
    """Run app.py in a process of its own: Node stays out of the tests' processes, and one of them does it for all."""
    _KEPT.mkdir(parents=True, exist_ok=True)
    (_ROOT / ".build" / ".gitignore").write_text("*\n", encoding="utf-8")
    with (_KEPT / "one-at-a-time").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if kept.exists():
            return
        made = kept.with_suffix(".unfinished")
        shutil.rmtree(made, ignore_errors=True)
        made_by = subprocess.run(
            [sys.executable, "app.py"],
            cwd=_ROOT,
            env=os.environ
            | {
                "CDK_OUTDIR": str(made),
                "CDK_VALIDATION": "false",
                "CDK_CONTEXT_JSON": json.dumps({"aws:cdk:bundling-stacks": []}),
                "TICKWRIGHT_STAGE": _STAGE,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert made_by.returncode == 0, f"app.py failed:\n{made_by.stdout}\n{made_by.stderr}"
        made.rename(kept)
