"""The metrics that dashboards and alarms are made of, by name and dimensions.

Must not know thresholds. Those of the product's own are written by layers/core/python/tickwright/adapters/telemetry;
a test holds their names equal.
"""

from typing import TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra.constructs.alarm import FIVE_MINUTES, MINUTE

NAMESPACE = "Tickwright"
# What API Gateway calls the one stage of an installation's API.
STAGE_NAME = "live"
# Of the access log of the API, by a filter: see infra/stacks/api.py.
AUTHORIZER_FAILURES = "AuthorizerFailures"

Metric: TypeAlias = cloudwatch.Metric


def own(name: str, *, stage: str, statistic: str, period: cdk.Duration = MINUTE, lane: str | None = None) -> Metric:
    """A metric that the product writes."""
    dimensions = {"Stage": stage} if lane is None else {"Stage": stage, "Lane": lane}
    return Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=period,
    )


def dispatch_lag(stage: str, lane: str, statistic: str = "p99") -> Metric:
    """How late the runs of a lane start, in milliseconds."""
    return own("DispatchLag", stage=stage, lane=lane, statistic=statistic)


def of_queue(
    queue: sqs.IQueue, name: str, *, statistic: str, label: str | None = None, period: cdk.Duration = MINUTE
) -> Metric:
    """A metric of SQS; with a label for a picture, since an alarm on it would become one on an expression."""
    return Metric(
        namespace="AWS/SQS",
        metric_name=name,
        dimensions_map={"QueueName": queue.queue_name},
        statistic=statistic,
        period=period,
        label=label,
    )


def unserved(queue: sqs.IQueue) -> cloudwatch.MathExpression:
    """1 in a minute in which hints waited and nobody asked for any; a queue at rest says nothing, which is 0."""
    waiting = of_queue(queue, "ApproximateNumberOfMessagesVisible", statistic="Minimum")
    asked = of_queue(queue, "NumberOfMessagesReceived", statistic="Sum")
    return cloudwatch.MathExpression(
        expression="IF(FILL(waiting, 0) > 0 AND FILL(received, 0) == 0, 1, 0)",
        using_metrics={"waiting": waiting, "received": asked},
        period=MINUTE,
        label="nobody takes what waits",
    )


def throttles(name: str, table: str, index: str | None) -> cloudwatch.MathExpression:
    """Requests that a table, or an index of it, has refused for their number, in five minutes."""
    dimensions = {"TableName": table} if index is None else {"TableName": table, "GlobalSecondaryIndexName": index}
    # Within a picture each id is of one metric.
    place = f"{name}{(index or '').capitalize()}"
    using: dict[str, cloudwatch.IMetric] = {
        f"{kind}{place}": Metric(
            namespace="AWS/DynamoDB",
            metric_name=metric,
            dimensions_map=dimensions,
            statistic="Sum",
            period=FIVE_MINUTES,
        )
        for kind, metric in (("reads", "ReadThrottleEvents"), ("writes", "WriteThrottleEvents"))
    }
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({each}, 0)" for each in using),
        using_metrics=using,
        period=FIVE_MINUTES,
        label=name if index is None else f"{name} by {index}",
    )


def throttled_writes(_name: str, table: str, index: str | None) -> Metric:
    """The same of writes alone; reads are tried again as well, and what fails in the end is among the faults."""
    dimensions = {"TableName": table} if index is None else {"TableName": table, "GlobalSecondaryIndexName": index}
    return Metric(
        namespace="AWS/DynamoDB",
        metric_name="WriteThrottleEvents",
        dimensions_map=dimensions,
        statistic="Sum",
        period=FIVE_MINUTES,
    )


def of_api(name: str, api: str, *, statistic: str, period: cdk.Duration = FIVE_MINUTES) -> Metric:
    """A metric of API Gateway, by the names of API and stage: a release waits for alarms on it, the stage for both."""
    return Metric(
        namespace="AWS/ApiGateway",
        metric_name=name,
        dimensions_map={"ApiName": api, "Stage": STAGE_NAME},
        statistic=statistic,
        period=period,
    )


def failed_requests(gateway: apigateway.RestApi, *, period: cdk.Duration) -> Metric:
    """The share of requests that were answered 5xx, from 0 to 1."""
    return of_api("5XXError", gateway.rest_api_name, statistic="Average", period=period)
