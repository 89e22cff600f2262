"""The alarms of what runs: functions that fail or are throttled, loops that are silent, an API that answers 5xx.

Must not know what a function does, beyond those two whose silence is an alarm of its own.
"""

from collections.abc import Callable, Iterable, Mapping

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_

from infra.alarm_settings import AlarmSettings
from infra.constructs import measures
from infra.constructs.alarm import FIVE_MINUTES, MINUTE, Alarms, Condition
from infra.constructs.service_function import ServiceFunction
from infra.policy.checks import REFUSES_BY_FAILING
from infra.policy.runbook import Runbook

_SILENT_MINUTES = 3
_WATCH_SILENT_MINUTES = 5
# Of each bucket, by whichever scheduler has it.
_LOOKS_A_MINUTE = 60


def ring_for_errors(alarms: Alarms, settings: AlarmSettings, functions: Iterable[ServiceFunction]) -> None:
    """Each that fails, and does not refuse by it."""
    for each in functions:
        if each.name in REFUSES_BY_FAILING:
            continue
        alarms.ring(
            f"{each.name.capitalize()}FunctionErrors",
            Condition(metric=each.function.metric_errors(period=FIVE_MINUTES), threshold=settings.function_errors),
            runbook=Runbook.A_FUNCTION_FAILS,
            says=f"The function {each.name} has failed, or ran into its time limit.",
        )


def ring_for_throttles(alarms: Alarms, functions: Iterable[ServiceFunction]) -> None:
    """Each that Lambda does not start for want of concurrency."""
    for each in functions:
        alarms.ring(
            f"{each.name.capitalize()}FunctionThrottles",
            Condition(metric=each.function.metric_throttles(period=FIVE_MINUTES), threshold=1, of=2, periods=3),
            runbook=Runbook.A_FUNCTION_IS_THROTTLED,
            says=f"Lambda did not start the function {each.name}: its concurrency, or the account's, is used up.",
        )


def ring_for_the_account(alarms: Alarms) -> None:
    """Any function that Lambda does not start: without reservations it is the account's concurrency that is used up."""
    alarms.ring(
        "FunctionThrottles",
        Condition(metric=lambda_.Function.metric_all_throttles(period=FIVE_MINUTES), threshold=1, of=2, periods=3),
        runbook=Runbook.A_FUNCTION_IS_THROTTLED,
        says="Lambda did not start a function of this account and Region: the concurrency is used up.",
    )


def ring_for_loops(alarms: Alarms, *, stage: str, watch: ServiceFunction, buckets: int) -> None:
    """What has to be heard each minute: that schedulers serve their buckets, and that the watch is started."""
    served = measures.own("BucketsServed", stage=stage, statistic="Sum")
    alarms.ring(
        "SchedulerSilent",
        Condition(
            metric=served,
            threshold=buckets * _LOOKS_A_MINUTE // 2,
            of=_SILENT_MINUTES,
            periods=_SILENT_MINUTES,
            below=True,
        ),
        runbook=Runbook.SCHEDULER_IS_SILENT,
        says=f"For {_SILENT_MINUTES} minutes schedulers have looked at less than half of the buckets, or at none.",
    )
    started = watch.function.metric_invocations(period=MINUTE)
    alarms.ring(
        "WatchSilent",
        Condition(metric=started, threshold=1, of=_WATCH_SILENT_MINUTES, periods=_WATCH_SILENT_MINUTES, below=True),
        runbook=Runbook.WATCH_IS_SILENT,
        says=f"The watch was not started for {_WATCH_SILENT_MINUTES} minutes: what a dead worker left stays undone.",
    )


def ring_for_trouble(alarms: Alarms, settings: AlarmSettings, *, stage: str) -> None:
    """What the product itself says of its faults, and of those of AWS."""
    bugs = measures.own("Bugs", stage=stage, statistic="Sum", period=FIVE_MINUTES)
    alarms.ring(
        "Bugs",
        Condition(metric=bugs, threshold=1),
        runbook=Runbook.A_BUG_OF_OURS,
        says="The product has met a fault of its own: one run, or one bucket, waits.",
    )
    faults = measures.own("Faults", stage=stage, statistic="Sum", period=FIVE_MINUTES)
    alarms.ring(
        "Faults",
        Condition(metric=faults, threshold=settings.faults, of=2, periods=2),
        runbook=Runbook.AWS_DOES_NOT_ANSWER,
        says=f"{settings.faults} requests of tables or queues or more failed within five minutes, after all tries.",
    )


def ring_for_tables(
    alarms: Alarms,
    tables: Mapping[str, dynamodb.TableV2],
    indexes: Mapping[str, tuple[str, ...]],
    refused: Callable[[str, str, str | None], cloudwatch.IMetric],
) -> None:
    """Each table and each index: an index that cannot keep up refuses the writes of its table."""
    for name, table in tables.items():
        for index in (None, *indexes[name]):
            what = name if index is None else f"{name} by {index}"
            alarms.ring(
                f"{name}{'' if index is None else index.capitalize()}Throttles",
                Condition(metric=refused(name, table.table_name, index), threshold=1, of=2, periods=3),
                runbook=Runbook.STORE_REFUSES_FOR_HEAT,
                says=f"DynamoDB has refused requests of {what} for their number.",
            )


def ring_for_the_door(alarms: Alarms, settings: AlarmSettings, gateway: apigateway.RestApi, *, stage: str) -> None:
    """What callers meet: 5xx, and an authorizer that cannot say who they are."""
    failed = measures.failed_requests(gateway, period=FIVE_MINUTES)
    alarms.ring(
        "ApiAnswers5xx",
        Condition(metric=failed, threshold=settings.api_errors_percent / 100, of=2, periods=3),
        runbook=Runbook.API_ANSWERS_5XX,
        says=f"{settings.api_errors_percent} % of the requests or more were answered 5xx.",
    )
    unanswered = cloudwatch.Metric(
        namespace=measures.NAMESPACE,
        metric_name=f"{measures.AUTHORIZER_FAILURES}-{stage}",
        statistic="Sum",
        period=cdk.Duration.minutes(5),
    )
    alarms.ring(
        "AuthorizerFails",
        Condition(metric=unanswered, threshold=settings.function_errors),
        runbook=Runbook.AUTHORIZER_FAILS,
        says="The authorizer gave API Gateway no answer: callers with good keys are answered 503.",
    )
