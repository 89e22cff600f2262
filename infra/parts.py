"""What the stacks share: the tables and queues, their ARNs by resource name and their names as environment.

Must not know which function gets what. Passed between stacks as constructs, never as names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs

from infra.environment import INTAKE, INTAKE_UNDELIVERED, TARGETS, VARIABLES, WEBHOOK_KEY
from infra.lane_settings import LANES
from infra.policy.grants import Resource
from infra.stacks.data import ATTENTION, DUE, TENANT, WAITING, DataStack
from infra.stage_settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """The queues of an installation: the lanes of each pool of the platform's, and those that people read."""

    lanes: Mapping[str, sqs.Queue]
    fargate_lanes: Mapping[str, sqs.Queue]
    dead_executions: sqs.Queue
    pools_undelivered: sqs.Queue
    intake: sqs.Queue
    intake_undelivered: sqs.Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The storage and the queues of an installation. `pool_queues`: how the names of tenants' pools' queues begin."""

    jobs: dynamodb.TableV2
    executions: dynamodb.TableV2
    journal: dynamodb.TableV2
    control: dynamodb.TableV2
    queues: Queues
    pool_queues: str
    webhook_key: secretsmanager.Secret
    # What the tables are encrypted under, where it is the installation's own.
    key: kms.IKey | None = None

    @classmethod
    def of(cls, data: DataStack, *, settings: Settings, queues: Queues) -> "Parts":
        """The parts of the data stack, joined with the queues."""
        return cls(
            jobs=data.jobs,
            executions=data.executions,
            journal=data.journal,
            control=data.control,
            queues=queues,
            pool_queues=f"tickwright-{settings.stage}-pool",
            webhook_key=data.webhook_key,
            key=data.key,
        )

    def arns(self, resource: Resource) -> list[str]:
        """What a policy has to name for a resource: an index is a resource of its own, a lane is four queues' share.

        The queues of tenants' pools are known by how their names begin.
        """
        queues = self.queues
        pools = cdk.Stack.of(queues.dead_executions).format_arn(service="sqs", resource=f"{self.pool_queues}-*")
        return {
            Resource.JOBS: [self.jobs.table_arn],
            Resource.JOBS_DUE: [f"{self.jobs.table_arn}/index/{DUE}"],
            Resource.JOBS_TENANT: [f"{self.jobs.table_arn}/index/{TENANT}"],
            Resource.EXECUTIONS: [self.executions.table_arn],
            Resource.EXECUTIONS_WAITING: [f"{self.executions.table_arn}/index/{WAITING}"],
            Resource.EXECUTIONS_ATTENTION: [f"{self.executions.table_arn}/index/{ATTENTION}"],
            Resource.JOURNAL: [self.journal.table_arn],
            Resource.CONTROL: [self.control.table_arn],
            Resource.LANES: [queues.lanes[lane].queue_arn for lane in LANES],
            Resource.FARGATE_LANES: [queues.fargate_lanes[lane].queue_arn for lane in LANES],
            Resource.POOL_QUEUES: [pools],
            Resource.DEAD_EXECUTIONS: [queues.dead_executions.queue_arn],
            Resource.INTAKE: [queues.intake.queue_arn],
            Resource.INTAKE_UNDELIVERED: [queues.intake_undelivered.queue_arn],
        }[resource]

    def environment_of_landing(self, settings: Settings) -> dict[str, str]:
        """What whoever lands submissions gets besides."""
        return {
            TARGETS: self.environment_of_targets(settings)[TARGETS],
            INTAKE: self.queues.intake.queue_url,
            INTAKE_UNDELIVERED: self.queues.intake_undelivered.queue_url,
        }

    def environment_of_targets(self, settings: Settings) -> dict[str, str]:
        """What whoever takes jobs, and whoever runs them, gets besides; the key is in no template."""
        return {
            TARGETS: settings.targets_text,
            WEBHOOK_KEY: self.webhook_key.secret_value.unsafe_unwrap(),
        }

    def environment(self, settings: Settings, *, service: str) -> dict[str, str]:
        """The variables of one function; the same names for all."""
        queues = self.queues
        values = {
            "TICKWRIGHT_STAGE": settings.stage,
            "TICKWRIGHT_BUCKETS": str(settings.buckets),
            "TICKWRIGHT_BUCKETS_SERVED": str(max(settings.buckets_served, settings.buckets)),
            "TICKWRIGHT_EPOCH_BASE": str(settings.epoch_base),
            "TICKWRIGHT_SCALE": settings.scale,
            "TICKWRIGHT_JOBS_TABLE": self.jobs.table_name,
            "TICKWRIGHT_EXECUTIONS_TABLE": self.executions.table_name,
            "TICKWRIGHT_JOURNAL_TABLE": self.journal.table_name,
            "TICKWRIGHT_CONTROL_TABLE": self.control.table_name,
            **{f"TICKWRIGHT_QUEUE_{lane.upper()}": queues.lanes[lane].queue_url for lane in LANES},
            **{f"TICKWRIGHT_QUEUE_FARGATE_{lane.upper()}": queues.fargate_lanes[lane].queue_url for lane in LANES},
            "TICKWRIGHT_QUEUE_DEAD": queues.dead_executions.queue_url,
            "TICKWRIGHT_POOL_QUEUES": self.pool_queues,
            "TICKWRIGHT_POOL_DLQ": queues.pools_undelivered.queue_arn,
            "POWERTOOLS_SERVICE_NAME": service,
            # Empty on purpose: zone rules come from the pinned tzdata package alone, the same on every machine.
            "PYTHONTZPATH": "",
        }
        assert tuple(values) == VARIABLES
        return values
