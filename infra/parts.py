"""What the stacks share: the tables and queues, their ARNs by resource name and their names as environment.

Must not know which function gets what. Passed between stacks as constructs, never as names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sqs as sqs

from infra.environment import VARIABLES
from infra.policy.grants import Resource
from infra.settings import LANES, Settings
from infra.stacks.data import ATTENTION, DUE, TENANT, WAITING, DataStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The storage and the queues of an installation."""

    jobs: dynamodb.TableV2
    executions: dynamodb.TableV2
    journal: dynamodb.TableV2
    control: dynamodb.TableV2
    lanes: Mapping[str, sqs.Queue]
    dead_executions: sqs.Queue

    @classmethod
    def of(cls, data: DataStack, *, lanes: Mapping[str, sqs.Queue], dead_executions: sqs.Queue) -> "Parts":
        """The parts of the data stack, joined with the queues."""
        return cls(
            jobs=data.jobs,
            executions=data.executions,
            journal=data.journal,
            control=data.control,
            lanes=lanes,
            dead_executions=dead_executions,
        )

    def arns(self, resource: Resource) -> list[str]:
        """What a policy has to name for a resource: an index is a resource of its own, a lane is four queues' share."""
        return {
            Resource.JOBS: [self.jobs.table_arn],
            Resource.JOBS_DUE: [f"{self.jobs.table_arn}/index/{DUE}"],
            Resource.JOBS_TENANT: [f"{self.jobs.table_arn}/index/{TENANT}"],
            Resource.EXECUTIONS: [self.executions.table_arn],
            Resource.EXECUTIONS_WAITING: [f"{self.executions.table_arn}/index/{WAITING}"],
            Resource.EXECUTIONS_ATTENTION: [f"{self.executions.table_arn}/index/{ATTENTION}"],
            Resource.JOURNAL: [self.journal.table_arn],
            Resource.CONTROL: [self.control.table_arn],
            Resource.LANES: [self.lanes[lane].queue_arn for lane in LANES],
            Resource.DEAD_EXECUTIONS: [self.dead_executions.queue_arn],
        }[resource]

    def environment(self, settings: Settings, *, service: str) -> dict[str, str]:
        """The variables of one function; the same names for all."""
        values = {
            "TICKWRIGHT_STAGE": settings.stage,
            "TICKWRIGHT_BUCKETS": str(settings.buckets),
            "TICKWRIGHT_SCALE": settings.scale,
            "TICKWRIGHT_JOBS_TABLE": self.jobs.table_name,
            "TICKWRIGHT_EXECUTIONS_TABLE": self.executions.table_name,
            "TICKWRIGHT_JOURNAL_TABLE": self.journal.table_name,
            "TICKWRIGHT_CONTROL_TABLE": self.control.table_name,
            **{f"TICKWRIGHT_QUEUE_{lane.upper()}": self.lanes[lane].queue_url for lane in LANES},
            "TICKWRIGHT_QUEUE_DEAD": self.dead_executions.queue_url,
            "POWERTOOLS_SERVICE_NAME": service,
            # Empty on purpose: zone rules come from the pinned tzdata package alone, the same on every machine.
            "PYTHONTZPATH": "",
        }
        assert tuple(values) == VARIABLES
        return values
