"""The front door: a REST API that knows who is calling and passes claims of pools on to one function, all else to one.

Must not know the other routes: the product does (docs/api/openapi.json). REST rather than HTTP API, because only it can
shape its own refusals. No usage plans and no API Gateway keys: AWS advises against them as authentication.
"""

import json
from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.constructs.gradual_release import release_gradually
from infra.constructs.log_group import own_log_group
from infra.constructs.measures import AUTHORIZER_FAILURES, NAMESPACE, STAGE_NAME
from infra.constructs.named_gateway import name_gateway
from infra.constructs.problem_responses import add_problem_responses
from infra.constructs.service_function import Role, ServiceFunction
from infra.constructs.web_acl import WebAcl
from infra.environment import CLAIM_SEATS, INTAKE, LOG_GROUPS, PAGE_SECRET, STATUS_CACHE
from infra.parts import Parts
from infra.stage_settings import Settings

# What anybody may read: whether the installation answers, and how to talk to it.
OPEN_PATHS = ("health", "openapi.json")
# A header that cannot be a bearer token is refused without asking the authorizer.
BEARER = "^[Bb][Ee][Aa][Rr][Ee][Rr] +[A-Za-z0-9._~+/=-]{1,256} *$"
# Each may hold a megabyte, and Lambda hands over six together.
LANDED_TOGETHER = 5
# Enough for fifty submissions a second, few enough to leave a store that comes back its breath.
LANDINGS_AT_ONCE = 5
# The most that a regional REST API waits for its function.
INTEGRATION_TIMEOUT_S = 29

# What API Gateway says of an authorizer that gave no answer.
_AUTHORIZER_FAILURES = ("FAILURE", "CONFIGURATION_ERROR")

_ACCESS_LOG = {
    "requestId": "$context.requestId",
    "extendedRequestId": "$context.extendedRequestId",
    "xrayTraceId": "$context.xrayTraceId",
    "tenantId": "$context.authorizer.tenantId",
    "ip": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "latencyMs": "$context.responseLatency",
    "functionLatencyMs": "$context.integrationLatency",
    "authorizerLatencyMs": "$context.authorizer.integrationLatency",
    "error": "$context.error.responseType",
}


class ApiStack(cdk.Stack):
    """API Gateway, the functions api and claim, the authorizer, and the intake."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        parts: Parts,
        log_groups: Sequence[logs.ILogGroup],
    ) -> None:
        super().__init__(scope, construct_id, description="Tickwright: HTTP API")
        self._settings = settings
        claims = Role(
            name="claim",
            description="Claims of tenants' own machines",
            own_variables={CLAIM_SEATS: str(settings.claim_seats)},
        )
        claim = self._function("Claim", claims, parts)
        own_variables = {
            PAGE_SECRET: self._page_secret(),
            **parts.environment_of_targets(settings),
            # Who claimed a run for a tenant's own machine is said by the claim function.
            LOG_GROUPS: ",".join(group.log_group_name for group in (*log_groups, claim.log_group)),
            INTAKE: parts.queues.intake.queue_url if settings.intake else "",
            STATUS_CACHE: settings.status_cache,
        }
        api = self._function("Api", Role(name="api", description="The HTTP API", own_variables=own_variables), parts)
        looks_up = Role(name="authorizer", description="Finds the tenant and the scopes of an API key")
        authorizer = self._function("Authorizer", looks_up, parts)
        self.functions = (api, claim, authorizer, self._intake(parts))
        gateway = self._gateway()
        self.gateway = gateway
        gateway.node.try_remove_child("Endpoint")  # CDK's own output, with a slash, of an address that may be off
        add_problem_responses(gateway)
        self._routes(gateway, api=api, claim=claim, authorizer=authorizer)
        door = settings.api_gateway
        address = self._address(gateway) if door.domain is None else name_gateway(self, gateway, domain=door.domain)
        if door.waf is not None:
            WebAcl(self, "WebAcl", gateway=gateway, settings=settings, waf=door.waf)
        if settings.release.canary:
            release_gradually(self, settings, gateway=gateway, api=api, authorizer=authorizer)
        cdk.CfnOutput(self, "Url", value=address, description="The base URL of the HTTP API")

    def _address(self, gateway: apigateway.RestApi) -> str:
        """Without a slash at its end: the documentation puts paths behind it."""
        host = f"{gateway.rest_api_id}.execute-api.{self.region}.{self.url_suffix}"
        return f"https://{host}/{gateway.deployment_stage.stage_name}"

    def _intake(self, parts: Parts) -> ServiceFunction:
        """Lands what was accepted while the store did not answer, also after a stage has ceased to accept."""
        lands = Role(
            name="intake",
            description="Lands submissions that were accepted while the store did not answer",
            own_variables=parts.environment_of_landing(self._settings),
        )
        intake = self._function("Intake", lands, parts)
        lambda_.EventSourceMapping(
            self,
            "IntakeMapping",
            target=intake.entry,
            event_source_arn=parts.queues.intake.queue_arn,
            enabled=not self._settings.stopped,
            batch_size=LANDED_TOGETHER,
            max_batching_window=cdk.Duration.seconds(0),
            max_concurrency=LANDINGS_AT_ONCE,
            report_batch_item_failures=True,
            metrics_config=lambda_.MetricsConfig(metrics=[lambda_.MetricType.EVENT_COUNT]),
        )
        return intake

    def _function(self, construct_id: str, role: Role, parts: Parts) -> ServiceFunction:
        return ServiceFunction(self, construct_id, role=role, settings=self._settings, parts=parts)

    def _page_secret(self) -> str:
        """What signs the tokens that page through a list; resolved while deploying, and in no template."""
        secret = secretsmanager.Secret(
            self,
            "PageSecret",
            description="Signs the page tokens of the HTTP API of Tickwright",
            generate_secret_string=secretsmanager.SecretStringGenerator(password_length=64, exclude_punctuation=True),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        return secret.secret_value.unsafe_unwrap()

    def _gateway(self) -> apigateway.RestApi:
        door = self._settings.api_gateway
        access_log = own_log_group(self, "AccessLog", settings=self._settings)
        self._count_failures_of_the_authorizer(access_log)
        gateway = apigateway.RestApi(
            self,
            "Gateway",
            rest_api_name=f"tickwright-{self._settings.stage}",
            description="The HTTP API of Tickwright",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=False,
            # With a name of its own it has one door.
            disable_execute_api_endpoint=door.domain is not None,
            deploy_options=apigateway.StageOptions(
                stage_name=STAGE_NAME,
                throttling_rate_limit=door.rate_per_s,
                throttling_burst_limit=door.burst,
                tracing_enabled=True,
                metrics_enabled=True,
                # Errors only, and never a body: bodies hold tenants' payloads.
                logging_level=apigateway.MethodLoggingLevel.ERROR,
                data_trace_enabled=False,
                access_log_destination=apigateway.LogGroupLogDestination(access_log),
                access_log_format=apigateway.AccessLogFormat.custom(json.dumps(_ACCESS_LOG)),
            ),
        )
        if door.sets_account_log_role:
            gateway.deployment_stage.node.add_dependency(self._account_log_role())
        return gateway

    def _count_failures_of_the_authorizer(self, access_log: logs.LogGroup) -> None:
        """It refuses a key by failing, as API Gateway has it: its own errors do not tell who was at fault."""
        failed = logs.FilterPattern.any(
            *(logs.FilterPattern.string_value("$.error", "=", f"AUTHORIZER_{kind}") for kind in _AUTHORIZER_FAILURES)
        )
        logs.MetricFilter(
            self,
            "AuthorizerFailures",
            log_group=access_log,
            filter_pattern=failed,
            metric_namespace=NAMESPACE,
            metric_name=f"{AUTHORIZER_FAILURES}-{self._settings.stage}",
            metric_value="1",
            default_value=0,
        )

    def _account_log_role(self) -> apigateway.CfnAccount:
        """An account has one; it stays when the stack goes, since other APIs of the account may log through it."""
        role = iam.Role(
            self,
            "AccountLogRole",
            description="Lets API Gateway write logs, for every API of this account and region",
            assumed_by=iam.ServicePrincipal("apigateway.amazonaws.com"),
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name("service-role/AmazonAPIGatewayPushToCloudWatchLogs")
            ],
        )
        account = apigateway.CfnAccount(self, "Account", cloud_watch_role_arn=role.role_arn)
        role.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        account.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        return account

    def _routes(
        self, gateway: apigateway.RestApi, *, api: ServiceFunction, claim: ServiceFunction, authorizer: ServiceFunction
    ) -> None:
        rest, closed = _integration(api), self._closed(authorizer)
        version = gateway.root.add_resource("v1")
        for path in OPEN_PATHS:
            version.add_resource(path).add_method("GET", rest, authorization_type=apigateway.AuthorizationType.NONE)
        version.add_proxy(any_method=False, default_method_options=closed).add_method("ANY", rest)
        # What is beside a path of its own is said as well: no manual says whether the one for all else would have it.
        pools = version.add_resource("pools", default_method_options=closed)
        pool = pools.add_resource("{name}")
        claims = pool.add_resource("claim")
        claims.add_method("POST", _integration(claim))
        for beside in (pools, pool, claims, pool.add_proxy(any_method=False)):
            beside.add_method("ANY", rest)

    def _closed(self, authorizer: ServiceFunction) -> apigateway.MethodOptions:
        """For those whose API key the authorizer knows."""
        keys = apigateway.TokenAuthorizer(
            self,
            "ApiKeys",
            handler=authorizer.entry,
            identity_source=apigateway.IdentitySource.header("Authorization"),
            validation_regex=BEARER,
            results_cache_ttl=cdk.Duration.seconds(self._settings.api_gateway.authorizer_cache_s),
        )
        return apigateway.MethodOptions(authorizer=keys, authorization_type=apigateway.AuthorizationType.CUSTOM)


def _integration(served: ServiceFunction) -> apigateway.LambdaIntegration:
    return apigateway.LambdaIntegration(
        served.entry, proxy=True, allow_test_invoke=False, timeout=cdk.Duration.seconds(INTEGRATION_TIMEOUT_S)
    )
