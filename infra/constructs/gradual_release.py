"""A new version of the API for a tenth of its callers first: CodeDeploy moves the alias, and back when an alarm rings.

Must not know other functions: two versions of a loop or a worker beside each other prove nothing within minutes.
"""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.alarm_settings import AlarmSettings
from infra.constructs import measures
from infra.constructs.alarm import MINUTE, Alarms, Condition
from infra.constructs.service_function import ALIAS, ServiceFunction
from infra.policy.runbook import Runbook
from infra.stage_settings import Settings

_STEPS = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES


def release_gradually(
    scope: Construct,
    settings: Settings,
    *,
    gateway: apigateway.RestApi,
    api: ServiceFunction,
    authorizer: ServiceFunction,
) -> None:
    """Two groups that go back by the same alarms. They are of this stack: a release must not wait for another."""
    alarms = Alarms(scope, settings.alarms)
    rings = [_door(alarms, settings.alarms, gateway), _errors(alarms, settings.alarms, api)]
    application = codedeploy.LambdaApplication(scope, "Release")
    role = iam.Role(
        scope,
        "ReleaseRole",
        description="Lets CodeDeploy move the aliases of the API of Tickwright",
        assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"),
        managed_policies=[
            iam.ManagedPolicy.from_aws_managed_policy_name("service-role/AWSCodeDeployRoleForLambdaLimited")
        ],
    )
    for function in (api, authorizer):
        assert function.alias is not None
        codedeploy.LambdaDeploymentGroup(
            scope,
            f"{function.name.capitalize()}Release",
            application=application,
            alias=function.alias,
            deployment_config=_STEPS,
            alarms=rings,
            ignore_alarm_configuration=not settings.release.heeds_alarms,
            role=role,
            auto_rollback=codedeploy.AutoRollbackConfig(
                failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True
            ),
        )


def _door(alarms: Alarms, thresholds: AlarmSettings, gateway: apigateway.RestApi) -> cloudwatch.IAlarm:
    """What callers meet, of either version; the authorizer's failures are among it."""
    failed = measures.failed_requests(gateway, period=MINUTE)
    return alarms.ring(
        "ReleaseAnswers5xx",
        Condition(metric=failed, threshold=thresholds.api_errors_percent / 100, of=2, periods=3),
        runbook=Runbook.API_ANSWERS_5XX,
        says="Within minutes many requests were answered 5xx: a release that is under way goes back by itself.",
    )


def _errors(alarms: Alarms, thresholds: AlarmSettings, api: ServiceFunction) -> cloudwatch.IAlarm:
    """Of the version that is released: one time limit of the one before it says nothing about it."""
    failed = cloudwatch.Metric(
        namespace="AWS/Lambda",
        metric_name="Errors",
        dimensions_map={
            "FunctionName": api.function.function_name,
            "Resource": f"{api.function.function_name}:{ALIAS}",
            "ExecutedVersion": api.function.current_version.version,
        },
        statistic="Sum",
        period=MINUTE,
    )
    return alarms.ring(
        "ReleaseErrors",
        Condition(metric=failed, threshold=thresholds.function_errors),
        runbook=Runbook.A_FUNCTION_FAILS,
        says="The new version of the API's function has failed: a release that is under way goes back by itself.",
    )
