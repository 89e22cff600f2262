"""What an installation is watched by: a page, and the alarms that call somebody.

Must not know how anything works: it stands on all other stacks, and none stands on it. What to do when it rings is in
docs/operations.md.
"""

import aws_cdk as cdk
from constructs import Construct

from infra.constructs import measures
from infra.constructs.alarm import Alarms
from infra.constructs.alarms_of_functions import (
    ring_for_errors,
    ring_for_loops,
    ring_for_tables,
    ring_for_the_account,
    ring_for_the_door,
    ring_for_throttles,
    ring_for_trouble,
)
from infra.constructs.alarms_of_lanes import (
    ring_for_lanes,
    ring_for_late_starts,
    ring_for_runs_that_wait,
    ring_for_the_dead,
    ring_for_the_intake,
    ring_for_ticks_that_wait,
    ring_for_what_was_given_up,
)
from infra.constructs.dashboard import Dashboard
from infra.policy.checks import ANSWER_REQUESTS
from infra.stacks.api import ApiStack
from infra.stacks.core import CoreStack
from infra.stacks.data import INDEXES, DataStack
from infra.stacks.workers import WorkersStack
from infra.stage_settings import Settings


class ObservabilityStack(cdk.Stack):
    """The dashboard and the alarms."""

    def __init__(  # noqa: PLR0913 - it stands on every other stack
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        data: DataStack,
        core: CoreStack,
        workers: WorkersStack,
        api: ApiStack,
    ) -> None:
        super().__init__(scope, construct_id, description="Tickwright: dashboard and alarms")
        functions = (*core.functions, *workers.functions, *api.functions)
        thresholds, stage, queues = settings.alarms, settings.stage, core.parts.queues
        alarms = Alarms(self, thresholds)
        ring_for_late_starts(alarms, thresholds, stage=stage)
        ring_for_ticks_that_wait(alarms, thresholds, stage=stage)
        if thresholds.coarse:
            ring_for_runs_that_wait(alarms, thresholds, stage=stage)
        else:
            ring_for_lanes(alarms, thresholds, queues=queues)
            ring_for_what_was_given_up(alarms, core.undelivered_of_lanes)
        ring_for_what_was_given_up(alarms, core.undelivered)
        ring_for_the_dead(alarms, thresholds, dead=queues.dead_executions)
        ring_for_the_intake(alarms, thresholds, intake=queues.intake, stage=stage)
        buckets = max(settings.buckets, settings.buckets_served)
        ring_for_loops(alarms, stage=stage, watch=core.watch, buckets=buckets)
        ring_for_trouble(alarms, thresholds, stage=stage)
        if thresholds.coarse:
            ring_for_errors(alarms, thresholds, [one for one in functions if one.name not in ANSWER_REQUESTS])
            ring_for_the_account(alarms)
            ring_for_tables(alarms, data.tables, INDEXES, measures.throttled_writes)
        else:
            ring_for_errors(alarms, thresholds, functions)
            ring_for_throttles(alarms, functions)
            ring_for_tables(alarms, data.tables, INDEXES, measures.throttles)
        ring_for_the_door(alarms, thresholds, api.gateway, stage=stage)
        page = Dashboard(self, "Dashboard", settings=settings, parts=core.parts)
        page.show_promises(alarms.made)
        page.show_queues()
        page.show_door(api.gateway)
        page.show_functions(functions)
        page.show_tables(data.tables, INDEXES)
