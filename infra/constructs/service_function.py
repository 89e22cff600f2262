"""What every Lambda function of the product has in common: runtime, layers, log group, role, environment.

Must not know what the function does. Options are explicit even where they equal CDK's defaults, and no grant is made
that is not in infra/policy/grants.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundling.sources import function_code
from infra.constructs.granted import key_statement, statement_of
from infra.constructs.layers import ARCHITECTURE, RUNTIME, RuntimeLayers
from infra.constructs.log_group import own_log_group
from infra.parts import Parts
from infra.policy.grants import GRANTS
from infra.stage_settings import Settings

# What a function is invoked by, where versions are kept.
ALIAS = "live"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a function is for. `minute`: a minute rule invokes it, asynchronously."""

    name: str
    description: str
    minute: bool = False
    # Lambda stops a chain of about 16 sends and receives as a runaway loop. Only a function whose chains are bounded by
    # the store may opt out.
    sends_to_itself: bool = False
    own_variables: Mapping[str, str] = field(default_factory=dict)


class ServiceFunction(Construct):
    """One Lambda function with a role and a log group of its own."""

    def __init__(self, scope: Construct, construct_id: str, *, role: Role, settings: Settings, parts: Parts) -> None:
        super().__init__(scope, construct_id)
        self._role = role
        self.name = role.name
        self.log_group = own_log_group(self, "Logs", settings=settings)
        self.function = lambda_.Function(
            self,
            "Function",
            description=role.description,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler=f"functions.{role.name}.handler.lambda_handler",
            code=function_code(role.name),
            layers=RuntimeLayers.of(cdk.Stack.of(self), settings=settings).versions,
            role=self._iam_role(parts),
            environment=parts.environment(settings, service=role.name) | dict(role.own_variables),
            memory_size=settings.functions[role.name].memory_mib,
            timeout=cdk.Duration.seconds(settings.functions[role.name].timeout_s),
            reserved_concurrent_executions=settings.functions[role.name].reserved_concurrency,
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel[settings.log_level],
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            tracing=lambda_.Tracing.ACTIVE,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if role.sends_to_itself else lambda_.RecursiveLoop.TERMINATE,
            snap_start=_snapshot(role, settings),
            current_version_options=lambda_.VersionOptions(removal_policy=_versions_stay(settings)),
        )
        self.alias = self._alias() if settings.release.aliased else None
        # What everybody who invokes it names.
        self.entry: lambda_.Alias | lambda_.Function = self.alias or self.function
        if role.minute:
            # The next minute does what this one could not: an old event, or a second try of one, only adds load.
            self.entry.configure_async_invoke(retry_attempts=0, max_event_age=cdk.Duration.seconds(60))

    def _alias(self) -> lambda_.Alias:
        return lambda_.Alias(self, "Live", alias_name=ALIAS, version=self.function.current_version)

    def _iam_role(self, parts: Parts) -> iam.Role:
        role = iam.Role(
            self,
            "Role",
            description=f"What the {self._role.name} function of Tickwright may do",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        self.log_group.grant_write(role)
        for grant in GRANTS[self._role.name]:
            role.add_to_principal_policy(statement_of(grant, parts.arns(grant.resource)))
        if parts.key is not None:
            role.add_to_principal_policy(key_statement(parts.key, function=self._role.name))
        return role


def _snapshot(role: Role, settings: Settings) -> lambda_.SnapStartConf | None:
    """Loops are started each minute: what they save by it is not worth what it costs."""
    wanted = settings.release.snap_start and not role.minute
    return lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if wanted else None


def _versions_stay(settings: Settings) -> cdk.RemovalPolicy:
    """To go back to, where a stage is kept; but each that has a snapshot is paid for."""
    stay = settings.tables.retained and not settings.release.snap_start
    return cdk.RemovalPolicy.RETAIN if stay else cdk.RemovalPolicy.DESTROY
