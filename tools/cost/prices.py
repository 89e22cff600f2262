"""What AWS and others ask for a unit: each price with where it was read, and how far that is to be believed.

Must not know how many units anything takes. US dollars, us-east-1, list prices without free tiers, as of DATE. AWS
shows its prices to browsers alone: none was read from a price page by this tool, so look at the calculator of AWS
before a number leaves the house.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

REGION = "us-east-1"
DATE = "2026-11-29"
MILLION = 1_000_000
DAYS_A_MONTH = 30
HOURS_A_MONTH = 730
MINUTES_A_MONTH = HOURS_A_MONTH * 60


class Trust(Enum):
    """How sure a price is."""

    READ = "read in AWS's documentation of 2026"
    REPEATED = "read in what others wrote in 2025 or 2026"
    REMEMBERED = "commonly known, not read again"


class Item(Enum):
    """What is paid for."""

    WRITE = "DynamoDB write request unit"
    READ = "DynamoDB read request unit"
    WRITE_HOUR = "DynamoDB provisioned write unit, an hour"
    READ_HOUR = "DynamoDB provisioned read unit, an hour"
    STORED_GB = "DynamoDB storage, GB a month"
    RECOVERY_GB = "DynamoDB point-in-time recovery, GB a month"
    QUEUE = "SQS request, standard queue"
    FAIR = "SQS fair queue, on top of a request"
    INVOKED = "Lambda request"
    LAMBDA_GB_S = "Lambda GB-second, arm64"
    VCPU_HOUR = "Fargate vCPU, an hour, arm64"
    GB_HOUR = "Fargate GB, an hour, arm64"
    ADDRESS_HOUR = "Public IPv4 address, an hour"
    RULE = "EventBridge rule, an invocation"
    API_CALL = "API Gateway REST call"
    LOG_GB = "CloudWatch Logs, GB taken in"
    METRIC = "CloudWatch custom metric, a month of hours in which it is written"
    ALARM = "CloudWatch alarm, a month and metric"
    DASHBOARD = "CloudWatch dashboard, a month"
    TRACE = "X-Ray trace recorded"
    SECRET = "Secrets Manager secret, a month"  # noqa: S105 - a thing that is paid for
    SCHEDULED = "EventBridge Scheduler, an invocation"
    TRANSITION = "Step Functions Standard, a transition"
    EXPRESS = "Step Functions Express, a request"
    EXPRESS_GB_S = "Step Functions Express, GB-second"
    ACTION = "Temporal Cloud, an action (last published step)"
    ACTION_FLOOR = "Temporal Cloud, an action (floor published before 2025)"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for one unit, and who says so."""

    dollars: float
    source: str
    trust: Trust


_A, _B, _C = Trust.READ, Trust.REPEATED, Trust.REMEMBERED

PRICES: Mapping[Item, Price] = MappingProxyType(
    {
        Item.WRITE: Price(0.625 / MILLION, "airbyte.com, DynamoDB pricing, July 2025", _B),
        Item.READ: Price(0.125 / MILLION, "airbyte.com, DynamoDB pricing, July 2025", _B),
        Item.WRITE_HOUR: Price(0.00065, "zeonedge.com, examples of AWS", _B),
        Item.READ_HOUR: Price(0.00013, "zeonedge.com, examples of AWS", _B),
        Item.STORED_GB: Price(0.25, "aws.amazon.com/dynamodb/pricing", _C),
        Item.RECOVERY_GB: Price(0.20, "aws.amazon.com/dynamodb/pricing", _C),
        Item.QUEUE: Price(0.40 / MILLION, "cloudburn.io, SQS Pricing 2026, 14 March 2026", _B),
        Item.FAIR: Price(0.10 / MILLION, "cloudburn.io, SQS Pricing 2026, 14 March 2026", _B),
        Item.INVOKED: Price(0.20 / MILLION, "plan files of api-evangelist, 2026", _B),
        Item.LAMBDA_GB_S: Price(0.0000133334, "plan files of api-evangelist, 2026", _B),
        Item.VCPU_HOUR: Price(0.03238, "vantage.sh, wring.co, 2026", _B),
        Item.GB_HOUR: Price(0.00356, "vantage.sh, wring.co, 2026", _B),
        Item.ADDRESS_HOUR: Price(0.005, "aws.amazon.com/vpc/pricing", _C),
        Item.RULE: Price(1.00 / MILLION, "aws.amazon.com/eventbridge/pricing; perhaps free for rules by time", _C),
        Item.API_CALL: Price(3.50 / MILLION, "aws.amazon.com/api-gateway/pricing", _C),
        Item.LOG_GB: Price(0.50, "factualminds.com, 13 June 2026", _B),
        Item.METRIC: Price(0.30, "aws.amazon.com/cloudwatch/pricing", _C),
        Item.ALARM: Price(0.10, "aws.amazon.com/cloudwatch/pricing", _C),
        Item.DASHBOARD: Price(3.00, "aws.amazon.com/cloudwatch/pricing", _C),
        Item.TRACE: Price(5.00 / MILLION, "aws.amazon.com/xray/pricing", _C),
        Item.SECRET: Price(0.40, "aws.amazon.com/secrets-manager/pricing", _C),
        Item.SCHEDULED: Price(1.00 / MILLION, "cloudburn.io, 13 March 2026", _B),
        Item.TRANSITION: Price(25.00 / MILLION, "aws.amazon.com/step-functions/pricing", _C),
        Item.EXPRESS: Price(1.00 / MILLION, "aws.amazon.com/step-functions/pricing", _C),
        Item.EXPRESS_GB_S: Price(0.00001667, "aws.amazon.com/step-functions/pricing, first step", _C),
        Item.ACTION: Price(25.00 / MILLION, "docs.temporal.io/cloud/pricing, 2026; above 200 M by agreement", _B),
        Item.ACTION_FLOOR: Price(5.90 / MILLION, "docs.temporal.io/cloud/pricing, before 2025", _B),
    }
)
# Fargate takes so much off for machines that it may take away.
SPOT_SHARE_OF_PRICE = 0.3


def of(item: Item) -> float:
    """Dollars a unit."""
    return PRICES[item].dollars
