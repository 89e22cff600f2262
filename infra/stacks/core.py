"""What makes time pass: the ready queues, the scheduler loop and the watch loop.

Must not know the API or the workers. What the loops do is in docs/architecture.md.
"""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.minute_rule import MinuteRule
from infra.constructs.ready_queue import (
    INTAKE_RETENTION_DAYS,
    VISIBILITY_OF_FLEET_S,
    VISIBILITY_PER_TIMEOUT,
    Kept,
    ReadyQueue,
    plain_queue,
)
from infra.constructs.service_function import Role, ServiceFunction
from infra.environment import INTAKE, INTAKE_UNDELIVERED
from infra.lane_settings import LANES
from infra.parts import Parts, Queues
from infra.stacks.data import DataStack
from infra.stage_settings import Settings


class CoreStack(cdk.Stack):
    """Queues and loops."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, data: DataStack) -> None:
        super().__init__(scope, construct_id, description="Tickwright: ready queues, scheduler and watch")
        lambda_s = VISIBILITY_PER_TIMEOUT * settings.worker.timeout_s
        # Copies of executions that died, for people and their tools; the DEAD state in the store is the truth.
        dead_executions = plain_queue(self, "DeadExecutions", logical_id="QueueDeadExecutions")
        # What nobody could take of the pools of tenants, whose queues are made when they are put.
        pools_undelivered = plain_queue(self, "PoolsUndelivered", logical_id="QueuePoolsUndelivered")
        intake = ReadyQueue(
            self,
            "Intake",
            name="QueueIntake",
            visibility_s=VISIBILITY_PER_TIMEOUT * settings.landing.timeout_s,
            # It holds what was acknowledged, as the tables do.
            kept=Kept(
                days=INTAKE_RETENTION_DAYS,
                retained=settings.tables.retained,
                key=data.key if settings.tables.customer_key else None,
            ),
        )
        lanes, fargate_lanes = self._lanes("", lambda_s), self._lanes("Fargate", VISIBILITY_OF_FLEET_S)
        # Where what nobody could take ends, by what the queue is called.
        self.undelivered_of_lanes: Mapping[str, sqs.Queue] = {
            **{f"{lane.capitalize()}Undelivered": each.undelivered for lane, each in lanes.items()},
            **{f"Fargate{lane.capitalize()}Undelivered": each.undelivered for lane, each in fargate_lanes.items()},
        }
        # Named whether or not anybody asks: a name that alarms have stopped asking for could not be taken away before
        # they are gone, and they stand on this stack.
        for queue in self.undelivered_of_lanes.values():
            self.export_value(queue.queue_name)
        self.undelivered: Mapping[str, sqs.Queue] = {
            "PoolsUndelivered": pools_undelivered,
            "IntakeUndelivered": intake.undelivered,
        }
        queues = Queues(
            lanes={lane: each.queue for lane, each in lanes.items()},
            fargate_lanes={lane: each.queue for lane, each in fargate_lanes.items()},
            dead_executions=dead_executions,
            pools_undelivered=pools_undelivered,
            intake=intake.queue,
            intake_undelivered=intake.undelivered,
        )
        self.parts = Parts.of(data, settings=settings, queues=queues)
        self.scheduler, self.watch = self._loops(settings)
        self.functions = (self.scheduler, self.watch)
        self._say_environment(settings)

    def _lanes(self, pool: str, visibility_s: int) -> Mapping[str, ReadyQueue]:
        """The ready queues of a pool of the platform's; those of `lambda`, which came first, have the bare names."""
        names = {lane: f"{pool}{lane.capitalize()}" for lane in LANES}
        return {
            lane: ReadyQueue(self, f"{name}Lane", name=f"Queue{name}", visibility_s=visibility_s)
            for lane, name in names.items()
        }

    def _loops(self, settings: Settings) -> tuple[ServiceFunction, ServiceFunction]:
        scheduler = ServiceFunction(
            self,
            "Scheduler",
            role=Role(name="scheduler", description="Decides the ticks that come due", minute=True),
            settings=settings,
            parts=self.parts,
        )
        MinuteRule(
            self,
            "SchedulerMinute",
            function=scheduler.entry,
            slots=settings.scheduler_slots,
            stopped=settings.stopped,
        )
        watch = ServiceFunction(
            self,
            "Watch",
            role=Role(name="watch", description="Finds what a dead process has left unfinished", minute=True),
            settings=settings,
            parts=self.parts,
        )
        MinuteRule(self, "WatchMinute", function=watch.entry, slots=1, stopped=settings.stopped)
        return scheduler, watch

    def _say_environment(self, settings: Settings) -> None:
        """For the commands of the operator, who finds an installation by its stage; nothing of it is secret."""
        queues = self.parts.queues
        told = self.parts.environment(settings, service="operator") | {
            INTAKE: queues.intake.queue_url,
            INTAKE_UNDELIVERED: queues.intake_undelivered.queue_url,
        }
        cdk.CfnOutput(
            self,
            "Environment",
            value=self.to_json_string({name: value for name, value in told.items() if name.startswith("TICKWRIGHT_")}),
            description="What every function of the installation is told",
        )
