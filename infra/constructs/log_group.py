"""How long logs are kept: every log group of an installation is made here, with an end.

Must not know who writes. Without a group of its own a function's logs would be kept two years and outlive the stack.
"""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.stage_settings import Settings

# CDK names the retentions that CloudWatch knows; settings name days.
RETENTION = {
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def own_log_group(scope: Construct, construct_id: str, *, settings: Settings, name: str | None = None) -> logs.LogGroup:
    """A log group that ends with its stage's retention, and with its stack where the stage may be torn down.

    `name`: only for who writes to groups of certain names and no others. Such a group never stays: it would be in the
    way of the next one of its name, and what made it could be turned on once and no more.
    """
    stays = settings.tables.retained and name is None
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=RETENTION[settings.log_retention_days],
        removal_policy=cdk.RemovalPolicy.RETAIN if stays else cdk.RemovalPolicy.DESTROY,
    )
