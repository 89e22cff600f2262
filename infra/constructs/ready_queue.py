"""How hints of one lane of a pool travel to the workers, and where those go that nobody could take.

Must not know who sends or receives. A message is a hint and the store is the truth (SEM-QUEUE-1), so nothing here
decides whether work is lost.
"""

from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

# Receiving a hint whose execution another worker holds counts too, and is normal: so far above Lambda's advice of 5.
MAX_RECEIVE_COUNT = 1_000
MESSAGE_BYTES_MAX = 1_048_576
# Fourteen days, the most that SQS keeps: an undelivered hint keeps its first date, and people have holidays.
UNDELIVERED_RETENTION_DAYS = 14
# What waits in the intake has been acknowledged.
INTAKE_RETENTION_DAYS = 14
# A lost hint costs time and no work, since the journal sends again whatever nobody has seen finished.
READY_RETENTION_DAYS = 4
# SQS and Lambda ask for six function timeouts, so that a batch that is still being worked on is not given away.
VISIBILITY_PER_TIMEOUT = 6
# Machines of the fleet say at each receive how long: this is for whoever receives by hand.
VISIBILITY_OF_FLEET_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How what waits is kept: how long, whether it stays when its stack goes, and under which key, if not SQS's own."""

    days: int = READY_RETENTION_DAYS
    retained: bool = False
    key: kms.IKey | None = None

    @property
    def encryption(self) -> sqs.QueueEncryption:
        """The kind that goes with the key."""
        return sqs.QueueEncryption.SQS_MANAGED if self.key is None else sqs.QueueEncryption.KMS

    @property
    def removal_policy(self) -> cdk.RemovalPolicy:
        """What becomes of it with its stack."""
        return cdk.RemovalPolicy.RETAIN if self.retained else cdk.RemovalPolicy.DESTROY


# The store is the truth of whatever a hint is about.
OF_HINTS = Kept()


class ReadyQueue(Construct):
    """A standard queue (fair by MessageGroupId = tenant) with its queue of undelivered messages, kept alike."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        visibility_s: int,
        kept: Kept = OF_HINTS,
    ) -> None:
        super().__init__(scope, construct_id)
        self.undelivered = plain_queue(self, "Undelivered", logical_id=f"{name}Undelivered", kept=kept)
        self.queue = sqs.Queue(
            self,
            "Ready",
            encryption=kept.encryption,
            encryption_master_key=kept.key,
            removal_policy=kept.removal_policy,
            enforce_ssl=True,
            max_message_size_bytes=MESSAGE_BYTES_MAX,
            retention_period=cdk.Duration.days(kept.days),
            receive_message_wait_time=cdk.Duration.seconds(20),
            # The mappings wait for no second message: their window is 0 and adds nothing.
            visibility_timeout=cdk.Duration.seconds(visibility_s),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.undelivered, max_receive_count=MAX_RECEIVE_COUNT),
        )
        name_queue(self.queue, name)


def plain_queue(scope: Construct, construct_id: str, *, logical_id: str, kept: Kept = OF_HINTS) -> sqs.Queue:
    """A queue that people read and no function does."""
    queue = sqs.Queue(
        scope,
        construct_id,
        encryption=kept.encryption,
        encryption_master_key=kept.key,
        removal_policy=kept.removal_policy,
        enforce_ssl=True,
        max_message_size_bytes=MESSAGE_BYTES_MAX,
        retention_period=cdk.Duration.days(UNDELIVERED_RETENTION_DAYS),
        visibility_timeout=cdk.Duration.minutes(5),
    )
    name_queue(queue, logical_id)
    return queue


def name_queue(queue: sqs.Queue, logical_id: str) -> None:
    """Fix the name within the template: a queue is found by its role, and a tidied tree replaces nothing."""
    cast("sqs.CfnQueue", queue.node.default_child).override_logical_id(logical_id)
