"""What wakes a loop: a rule that fires each minute, once per slot.

Must not know what the loop does. Minutes may be 119 s apart: loops overlap and hand over through leases (SEM-BUCKET-1).
"""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

# EventBridge takes five targets a rule.
TARGETS_PER_RULE = 5
# A minute that could not be delivered is worthless by the next one.
EVENT_AGE_S_MAX = 60


class MinuteRule(Construct):
    """Invokes the function each minute once per slot, with {"slot": i, "slots": n}; never again for the same minute."""

    def __init__(
        self, scope: Construct, construct_id: str, *, function: lambda_.IFunction, slots: int, stopped: bool
    ) -> None:
        super().__init__(scope, construct_id)
        for first in range(0, slots, TARGETS_PER_RULE):
            rule = events.Rule(
                self,
                f"Rule{first // TARGETS_PER_RULE}",
                description=f"Wakes slots {first} to {min(first + TARGETS_PER_RULE, slots) - 1} of {slots}",
                enabled=not stopped,
                schedule=events.Schedule.rate(cdk.Duration.minutes(1)),
            )
            for slot in range(first, min(first + TARGETS_PER_RULE, slots)):
                rule.add_target(
                    targets.LambdaFunction(
                        function,
                        event=events.RuleTargetInput.from_object({"slot": slot, "slots": slots}),
                        retry_attempts=0,
                        max_event_age=cdk.Duration.seconds(EVENT_AGE_S_MAX),
                    )
                )
