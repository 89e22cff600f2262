"""What makes time pass: the ready queues, the scheduler loop and the watch loop.

Must not know the API or the workers. What the loops do is in docs/architecture.md.
"""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.minute_rule import MinuteRule
from infra.constructs.ready_queue import VISIBILITY_OF_FLEET_S, VISIBILITY_PER_TIMEOUT, ReadyQueue, plain_queue
from infra.constructs.service_function import Role, ServiceFunction
from infra.parts import Parts, Queues
from infra.settings import LANES, Settings
from infra.stacks.data import DataStack


class CoreStack(cdk.Stack):
    """Queues and loops."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, data: DataStack) -> None:
        super().__init__(scope, construct_id, description="Tickwright: ready queues, scheduler and watch")
        lambda_s = VISIBILITY_PER_TIMEOUT * settings.worker.timeout_s
        # Copies of executions that died, for people and their tools; the DEAD state in the store is the truth.
        dead_executions = plain_queue(self, "DeadExecutions", logical_id="QueueDeadExecutions")
        # What nobody could take of the pools of tenants, whose queues are made when they are put.
        pools_undelivered = plain_queue(self, "PoolsUndelivered", logical_id="QueuePoolsUndelivered")
        queues = Queues(
            lanes=self._lanes("", lambda_s),
            fargate_lanes=self._lanes("Fargate", VISIBILITY_OF_FLEET_S),
            dead_executions=dead_executions,
            pools_undelivered=pools_undelivered,
        )
        self.parts = Parts.of(data, settings=settings, queues=queues)
        self._loops(settings)
        self._say_environment(settings)

    def _lanes(self, pool: str, visibility_s: int) -> Mapping[str, sqs.Queue]:
        """The ready queues of a pool of the platform's; those of `lambda`, which came first, have the bare names."""
        names = {lane: f"{pool}{lane.capitalize()}" for lane in LANES}
        return {
            lane: ReadyQueue(self, f"{name}Lane", name=f"Queue{name}", visibility_s=visibility_s).queue
            for lane, name in names.items()
        }

    def _loops(self, settings: Settings) -> None:
        scheduler = ServiceFunction(
            self,
            "Scheduler",
            role=Role(name="scheduler", description="Decides the ticks that come due", minute=True),
            settings=settings,
            parts=self.parts,
        )
        MinuteRule(self, "SchedulerMinute", function=scheduler.function, slots=settings.scheduler_slots)
        watch = ServiceFunction(
            self,
            "Watch",
            role=Role(name="watch", description="Finds what a dead process has left unfinished", minute=True),
            settings=settings,
            parts=self.parts,
        )
        MinuteRule(self, "WatchMinute", function=watch.function, slots=1)

    def _say_environment(self, settings: Settings) -> None:
        """For the commands of the operator, who finds an installation by its stage; nothing of it is secret."""
        told = self.parts.environment(settings, service="operator")
        cdk.CfnOutput(
            self,
            "Environment",
            value=self.to_json_string({name: value for name, value in told.items() if name.startswith("TICKWRIGHT_")}),
            description="What every function of the installation is told",
        )
