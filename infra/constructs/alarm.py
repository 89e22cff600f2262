"""What calls somebody: an alarm that says what is wrong and where to read what to do about it.

Must not know what is measured. Every alarm has a section in docs/operations.md (infra/policy/runbook.py).
"""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.alarm_settings import AlarmSettings
from infra.policy.runbook import Runbook

MINUTE, FIVE_MINUTES = cdk.Duration.minutes(1), cdk.Duration.minutes(5)
_MISSING = cloudwatch.TreatMissingData


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Rings when the metric is at the threshold or above in `of` periods out of the last `periods`.

    `below`: rings under it instead, and when there is no metric at all, for what has to be heard.
    """

    metric: cloudwatch.IMetric
    threshold: float
    of: int = 1
    periods: int = 1
    below: bool = False


class Alarms:
    """Makes the alarms of one scope; whoever is told is told of each alike."""

    def __init__(self, scope: Construct, settings: AlarmSettings) -> None:
        self._scope = scope
        self._settings = settings
        self._told = (
            None
            if settings.topic_arn is None
            else actions.SnsAction(sns.Topic.from_topic_arn(scope, "Told", settings.topic_arn))
        )
        self.made: list[cloudwatch.Alarm] = []

    def ring(self, construct_id: str, condition: Condition, *, runbook: Runbook, says: str) -> cloudwatch.Alarm:
        """One alarm. `says` begins its description, and the address of its section ends it."""
        comparisons = cloudwatch.ComparisonOperator
        alarm = cloudwatch.Alarm(
            self._scope,
            construct_id,
            alarm_description=f"{says} What to do: {self._settings.runbook}#{runbook.anchor}",
            metric=condition.metric,
            threshold=condition.threshold,
            datapoints_to_alarm=condition.of,
            evaluation_periods=condition.periods,
            comparison_operator=comparisons.LESS_THAN_THRESHOLD
            if condition.below
            else comparisons.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=_MISSING.BREACHING if condition.below else _MISSING.NOT_BREACHING,
        )
        if self._told is not None:
            alarm.add_alarm_action(self._told)
            alarm.add_ok_action(self._told)
        self.made.append(alarm)
        return alarm
