"""Which findings of the rule packs are meant to be, and why: the one table.

A row that no longer silences a finding fails the gate, so the table cannot go stale. Must not silence more than it
names: every row says where.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from constructs import Construct

from infra.settings import LANES, STAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A rule that does not apply to some constructs, by `Stack/construct/path`. `<stage>` is the stage's name."""

    rules: tuple[str, ...]
    where: tuple[str, ...]
    reason: str

    def rules_in(self, stage: str) -> tuple[str, ...]:
        """What the packs call them in this stage."""
        return tuple(rule.replace("<stage>", stage) for rule in self.rules)


_LOOPS = ("Core/Scheduler", "Core/Watch")
_FUNCTIONS = (*_LOOPS, "Api/Api", "Api/Claim", "Api/Authorizer", "Api/Intake", "Workers/Worker")
_UNDELIVERED = (
    *(f"Core/{pool}{lane.capitalize()}Lane/Undelivered" for pool in ("", "Fargate") for lane in LANES),
    "Core/PoolsUndelivered",
    "Core/Intake/Undelivered",
)
_FLEET = tuple(
    f"Workers/Fleet/{name}" for name in sorted({name for stage in STAGES.values() for name in stage.fleet.services})
)
_ARN = "<AWS::Region>:<AWS::AccountId>"
_OPEN_METHODS = ("Api/Gateway/Default/v1/health/GET", "Api/Gateway/Default/v1/openapi.json/GET")
_CLOSED_METHODS = (
    "Api/Gateway/Default/v1/{proxy+}/ANY",
    *(f"Api/Gateway/Default/v1/pools{path}/ANY" for path in ("", "/{name}", "/{name}/claim", "/{name}/{proxy+}")),
    "Api/Gateway/Default/v1/pools/{name}/claim/POST",
)
_MANAGED = "Policy::arn:<AWS::Partition>:iam::aws:policy/service-role"
_PUSH_TO_LOGS = f"{_MANAGED}/AmazonAPIGatewayPushToCloudWatchLogs"
_MOVE_ALIASES = f"{_MANAGED}/AWSCodeDeployRoleForLambdaLimited"

ACKNOWLEDGED = (
    Acknowledged(
        rules=("AwsSolutions-IAM5[Resource::*]",),
        where=tuple(f"{function}/Role" for function in _FUNCTIONS),
        reason="xray:PutTraceSegments and xray:PutTelemetryRecords know no resources; every other right names its own.",
    ),
    Acknowledged(
        rules=(f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:sqs:{_ARN}:tickwright-<stage>-pool-*]",),
        where=tuple(f"{place}/Role" for place in (*_LOOPS, "Api/Api", "Api/Claim", "Api/Intake")),
        reason="Queues of tenants' pools are made while the installation runs: whose they are is in how they begin.",
    ),
    Acknowledged(
        rules=(f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:ecs:{_ARN}:task/<FleetClusterE89F8D7D>/*]",),
        where=tuple(f"{place}/Role" for place in _FLEET),
        reason="A machine protects itself from being scaled in. Machines come and go: they are named by their cluster.",
    ),
    Acknowledged(
        rules=("AwsSolutions-IAM5[Resource::*]",),
        where=tuple(f"{place}/Definition/ExecutionRole" for place in _FLEET),
        reason="ecr:GetAuthorizationToken knows no resources; what may be pulled, written and read is named.",
    ),
    Acknowledged(
        rules=("AwsSolutions-ECS4",),
        where=("Workers/Fleet/Cluster",),
        reason="Container Insights are paid for by the metric; machines say themselves how full they are and, by saying"
        " it, how many there are.",
    ),
    Acknowledged(
        rules=("AwsSolutions-ECS2",),
        where=tuple(f"{place}/Definition" for place in _FLEET),
        reason="The variables are names and numbers, those of the functions among them; secrets are told by reference.",
    ),
    Acknowledged(
        rules=("AwsSolutions-L1", "Serverless-LambdaLatestVersion"),
        where=_FUNCTIONS,
        reason="Python 3.13, supported until 2029, is one constant with the wheels and the bytecode of the layers.",
    ),
    Acknowledged(
        rules=("Serverless-LambdaDLQ",),
        where=_FUNCTIONS,
        reason="No function takes work asynchronously: the API answers its caller, a lane has a dead-letter queue"
        " of its own, and a minute event holds no work.",
    ),
    Acknowledged(
        rules=("Serverless-LambdaAsyncFailureDestination",),
        where=_LOOPS,
        reason="A minute event says only which slot to wake; the next minute's does the same, and what is owed is in"
        " the store.",
    ),
    Acknowledged(
        rules=("Serverless-EventBusDLQ",),
        where=("Core/SchedulerMinute", "Core/WatchMinute"),
        reason="A minute that could not be delivered is worthless by the next; FailedInvocations counts it.",
    ),
    Acknowledged(
        rules=("Serverless-SQSRedrivePolicy",),
        where=_UNDELIVERED,
        reason="These are the dead-letter queues.",
    ),
    Acknowledged(
        rules=("AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"),
        where=("Core/DeadExecutions",),
        reason="Copies of dead executions for people and their tools: no function receives from it, so nothing can fail"
        " to be received, and the DEAD state in the store is the truth.",
    ),
    Acknowledged(
        rules=("AwsSolutions-SQS3",),
        where=("Core/PoolsUndelivered",),
        reason="It is a dead-letter queue, of queues that no template names: tenants' pools are made while it runs.",
    ),
    Acknowledged(
        rules=("Serverless-LambdaEventSourceMappingDestination",),
        where=(*(f"Workers/{lane.capitalize()}Mapping" for lane in LANES), "Api/IntakeMapping"),
        reason="Failure destinations are for streams; a failed message goes back to its queue and in the end to that"
        " queue's dead-letter queue.",
    ),
    Acknowledged(
        rules=("AwsSolutions-APIG2",),
        where=("Api/Gateway",),
        reason="The product validates every body itself, so that the embedded server and API Gateway refuse alike, with"
        " a pointer and a remedy.",
    ),
    Acknowledged(
        rules=("AwsSolutions-APIG3",),
        where=("Api/Gateway/DeploymentStage.live",),
        reason="A web ACL is a setting (`WafSettings`) and costs by the request; requests without a well-formed key are"
        " refused at the door in any case.",
    ),
    Acknowledged(
        rules=("AwsSolutions-APIG4",),
        where=_OPEN_METHODS,
        reason="Health and the API's description are open on purpose and hold no tenant's data.",
    ),
    Acknowledged(
        rules=("AwsSolutions-SMG4",),
        where=("Api/PageSecret",),
        reason="It signs page tokens, which live for minutes, and the ids of jobs that are accepted while the store is"
        " away follow from it: another one, in an outage, tells a repeat another id. Nothing is opened with it.",
    ),
    Acknowledged(
        rules=("AwsSolutions-SMG4",),
        where=("Data/WebhookKey",),
        reason="Every tenant's signing secret follows from it, and each has its own rotation, which leaves the others"
        " alone; a new key would break all receivers at once.",
    ),
    Acknowledged(
        rules=("AwsSolutions-COG4",),
        where=(*_OPEN_METHODS, *_CLOSED_METHODS),
        reason="Callers are programs with API keys of their tenant, checked by the Lambda authorizer; there is no user"
        " pool.",
    ),
    Acknowledged(
        rules=("Annotation::@aws-cdk/aws-lambda:snapStartRequirePublish",),
        where=("Api/Api", "Api/Claim", "Api/Authorizer", "Api/Intake", "Workers/Worker"),
        reason="Where snapshots are on, each of these is called by its alias, which names a published version.",
    ),
    Acknowledged(
        rules=(f"AwsSolutions-IAM4[{_MOVE_ALIASES}]",),
        where=("Api/ReleaseRole",),
        reason="CodeDeploy's own policy is the contract for what moves an alias and reads the alarms that stop it.",
    ),
    Acknowledged(
        rules=(f"AwsSolutions-IAM4[{_PUSH_TO_LOGS}]",),
        where=("Api/AccountLogRole",),
        reason="The role is the account's and serves every API in it: AWS's own policy is the contract for it.",
    ),
)


def acknowledge(stacks: Mapping[str, cdk.Stack], *, stage: str) -> None:
    """Silence the findings of the table; a place that does not exist in this stage has none."""
    for row in ACKNOWLEDGED:
        for place in row.where:
            construct = find(stacks, place)
            if construct is not None:
                cdk.Validations.of(construct).acknowledge(
                    *(cdk.Acknowledgment(id=rule, reason=row.reason) for rule in row.rules_in(stage))
                )


def find(stacks: Mapping[str, cdk.Stack], place: str) -> Construct | None:
    """The construct at `Stack/construct/path`."""
    stack, *path = place.split("/")
    found: Construct | None = stacks[stack]
    for step in path:
        child = found.node.try_find_child(step) if found is not None else None
        assert child is None or isinstance(child, Construct)
        found = child
    return found
