"""A kit on DynamoDB and SQS, as the environment of a function names them."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from tickwright.adapters.aws.clients import dynamodb_client, new_session, sqs_client
from tickwright.adapters.aws.console import log_link, no_link
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.dynamodb.engine import Options
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import TableNames
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.sqs.messages import received_from_record
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.adapters.sqs.tenant_queues import TenantQueues
from tickwright.adapters.telemetry.logs import LogTelemetry
from tickwright.adapters.telemetry.metrics import OF_BUCKETS, OF_CLAIMS, OF_TROUBLE, Measured, MetricTelemetry
from tickwright.domain import limits
from tickwright.domain.epochs import Era
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch
from tickwright.domain.lanes import Lane
from tickwright.ports.queue import Received
from tickwright.services.kit import Kit, NotedBase
from tickwright.settings import Settings, from_environment

_LOG = logging.getLogger("tickwright")
KitT = TypeVar("KitT", bound=Kit)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsKit(Kit):
    """A kit on DynamoDB and SQS. `sqs` is the client of its queues, for what else is on SQS: another costs 20 ms."""

    sqs: object


def kit_from_env(environ: Mapping[str, str]) -> AwsKit:
    """The kit of a function, made once a container: it holds connections, and no identity for a snapshot to share."""
    _LOG.setLevel(logging.INFO)
    return measured(kit_from(from_environment(environ)), OF_TROUBLE, Stage=environ["TICKWRIGHT_STAGE"])


def kit_from(settings: Settings) -> AwsKit:
    """The kit of an installation."""
    session, clock, entropy = new_session(), SystemClock(), SystemEntropy()
    tables = TableNames(
        jobs=settings.jobs_table,
        executions=settings.executions_table,
        journal=settings.journal_table,
        control=settings.control_table,
    )
    urls = QueueUrls(
        ready=settings.queue_urls,
        fleet=settings.fleet_queue_urls,
        dead=settings.dead_queue_url,
        tenants=TenantQueues(prefix=settings.pool_queues, undelivered_arn=settings.pool_undelivered_arn),
    )
    store = DynamoDbStore(dynamodb_client(session), tables, clock=clock, entropy=entropy, options=Options())
    sqs = sqs_client(session)
    return AwsKit(
        store=store,
        queue=SqsQueue(sqs, urls, clock=clock, entropy=entropy),
        sqs=sqs,
        clock=clock,
        entropy=entropy,
        telemetry=LogTelemetry(),
        durations=limits.STANDARD if settings.scale == 1.0 else limits.STANDARD.scaled(settings.scale),
        buckets=settings.buckets,
        served=settings.buckets_served,
        era=Era(base=Epoch(settings.epoch_base)),
        noted=NotedBase(),
    )


def worker_kit_from_env(environ: Mapping[str, str]) -> AwsKit:
    """Of whoever claims for the installation: how late its runs start is measured. Tenants' own machines are theirs."""
    return measured(kit_from_env(environ), OF_CLAIMS, Stage=environ["TICKWRIGHT_STAGE"])


def scheduler_kit_from_env(environ: Mapping[str, str]) -> AwsKit:
    """Of a scheduler: what it serves is measured."""
    return measured(kit_from_env(environ), OF_BUCKETS, Stage=environ["TICKWRIGHT_STAGE"])


def measured(kit: KitT, events: Mapping[EventName, Measured], **dimensions: str) -> KitT:
    """The same kit, of which some events are metrics besides."""
    telemetry = MetricTelemetry(inner=kit.telemetry, clock=kit.clock, dimensions=dimensions, events=events)
    return replace(kit, telemetry=telemetry)


def log_link_from_env(environ: Mapping[str, str]) -> Callable[[Execution], str | None]:
    """Where a browser finds what the workers have logged about an execution, if the installation names log groups."""
    if not (log_groups := environ.get("TICKWRIGHT_LOG_GROUPS")):
        return no_link
    return partial(log_link, environ["AWS_REGION"], log_groups.split(","))


def received_of(environ: Mapping[str, str], record: Mapping[str, Any]) -> Received | None:
    """A record of an SQS event, of the lane whose queue it came from; None, and an error in the log, if it is no hint.

    Dropping such a message loses nothing: a hint says only where to look, and the journal sends it again.
    """
    received = received_from_record(record, _lane_of(environ, str(record["eventSourceARN"])))
    if received is None:
        _LOG.error("unreadable message %s dropped", record["messageId"])
    return received


def _lane_of(environ: Mapping[str, str], arn: str) -> Lane:
    """The lane whose queue has this ARN: the last part of an ARN and of a URL is the queue's name."""
    urls = from_environment(environ).queue_urls
    name = arn.rpartition(":")[2]
    return next(lane for lane, url in urls.items() if url.rpartition("/")[2] == name)
