"""The intake of an installation on AWS, as the environment names its queues; apart from aws.py, for few need it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tickwright.adapters.sqs.intake import SqsIntake, arrived_from_record
from tickwright.domain.deletions import Deletion
from tickwright.domain.ids import TenantId
from tickwright.ports.intake import Arrived, Intake
from tickwright.ports.whole import Undivided
from tickwright.services.kit import Kit
from tickwright.wiring.aws import AwsKit


def intake_from_env(environ: Mapping[str, str], kit: AwsKit) -> Intake | None:
    """Where submissions wait while the store does not answer; None where the installation has no such place."""
    if not (url := environ.get("TICKWRIGHT_QUEUE_INTAKE")):
        return None
    refused_url = environ.get("TICKWRIGHT_QUEUE_INTAKE_UNDELIVERED")
    return SqsIntake(kit.sqs, url, clock=kit.clock, entropy=kit.entropy, refused_url=refused_url)


def deletions_from(kit: Kit) -> Callable[[TenantId], Awaitable[Deletion | None]]:
    """How far the deletion of a tenant has come: what it had accepted before must not land after it."""
    assert isinstance(kit.store, Undivided), "a store, and none that stands before one"
    return kit.store.whole().deletion


def arrived_of(record: Mapping[str, Any]) -> Arrived | None:
    """The submission in a record of an SQS event, if it holds one."""
    return arrived_from_record(record)
