"""Who runs the executions: the worker function, fed by one mapping per lane, and the fleet of machines.

Must not know what a target is. A mapping per lane, each with its own concurrency or pollers, is what keeps a herd in
one lane from delaying a higher one (SEM-LANE-1); a machine has places of its own for each (SEM-FLEET-1).
"""

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.constructs.fleet import Fleet
from infra.constructs.service_function import Role, ServiceFunction
from infra.constructs.target_rights import target_statements
from infra.lane_settings import LANES
from infra.parts import Parts
from infra.stage_settings import Settings

# A batch is worked on at once, so a bigger one adds memory rather than throughput; 10 is the most without a window.
BATCH_SIZE = 10
BATCH_WINDOW_S = 0


class WorkersStack(cdk.Stack):
    """The pool `lambda`, for executions of up to 14 minutes, and the pool `fargate`, for the others."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, parts: Parts) -> None:
        super().__init__(scope, construct_id, description="Tickwright: workers")
        worker = ServiceFunction(
            self,
            "Worker",
            # It sends to the queues that feed it: a retry, the next waiting run. Chains end with the store's attempts.
            role=Role(
                name="worker",
                description="Claims and runs executions",
                sends_to_itself=True,
                own_variables=parts.environment_of_targets(settings),
            ),
            settings=settings,
            parts=parts,
        )
        for statement in target_statements(settings):
            worker.function.add_to_role_policy(statement)
        for lane in LANES:
            lambda_.EventSourceMapping(
                self,
                f"{lane.capitalize()}Mapping",
                target=worker.entry,
                event_source_arn=parts.queues.lanes[lane].queue_arn,
                enabled=not settings.stopped,
                batch_size=BATCH_SIZE,
                max_batching_window=cdk.Duration.seconds(BATCH_WINDOW_S),
                max_concurrency=settings.lane_concurrency.get(lane),
                provisioned_poller_config=_pollers(settings, lane),
                report_batch_item_failures=True,
                metrics_config=lambda_.MetricsConfig(metrics=[lambda_.MetricType.EVENT_COUNT]),
            )
        self.functions = (worker,)
        fleet = Fleet(self, "Fleet", settings=settings, parts=parts)
        # Whatever a worker of the platform says of an execution is in one of these.
        self.log_groups = (worker.log_group, *(service.log_group for service in fleet.services.values()))


def _pollers(settings: Settings, lane: str) -> lambda_.ProvisionedPollerConfig | None:
    given = settings.lane_pollers.get(lane)
    if given is None:
        return None
    return lambda_.ProvisionedPollerConfig(minimum_pollers=given.least, maximum_pollers=given.most)
