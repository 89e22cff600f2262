"""What makes time pass: the ready queues, the scheduler loop and the watch loop.

Must not know the API or the workers. What the loops do is in docs/architecture.md.
"""

import aws_cdk as cdk
from constructs import Construct

from infra.constructs.minute_rule import MinuteRule
from infra.constructs.ready_queue import ReadyQueue, plain_queue
from infra.constructs.service_function import Role, ServiceFunction
from infra.parts import Parts
from infra.settings import LANES, Settings
from infra.stacks.data import DataStack


class CoreStack(cdk.Stack):
    """Queues and loops."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, data: DataStack) -> None:
        super().__init__(scope, construct_id, description="Tickwright: ready queues, scheduler and watch")
        lanes = {
            lane: ReadyQueue(
                self, f"{lane.capitalize()}Lane", lane=lane, worker_timeout_s=settings.worker.timeout_s
            ).queue
            for lane in LANES
        }
        # Copies of executions that died, for people and their tools; the DEAD state in the store is the truth.
        dead_executions = plain_queue(self, "DeadExecutions", logical_id="QueueDeadExecutions")
        self.parts = Parts.of(data, lanes=lanes, dead_executions=dead_executions)
        self._loops(settings)

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
