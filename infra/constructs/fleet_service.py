"""One service of the fleet: its machines, what they may do, how they are replaced.

Must not know what an execution is. What a container may is closed down: no root, a root file system that is read, a
volume at /tmp. No grant is made that is not in infra/policy/grants.py.
"""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.constructs.fleet_image import fleet_image
from infra.constructs.fleet_network import FleetNetwork
from infra.constructs.fleet_scaling import Scaled, scale
from infra.constructs.granted import key_statement, statement_of
from infra.constructs.log_group import own_log_group
from infra.constructs.target_rights import target_statements
from infra.environment import TARGETS, WEBHOOK_KEY
from infra.fleet_settings import STOP_S, ServiceSettings
from infra.parts import Parts
from infra.policy.grants import GRANTS, Resource
from infra.stage_settings import Settings

# Whoever runs in the container: nobody of the image's own users.
USER = "10001:10001"
FUNCTION = "fargate"
_CONTAINER = "worker"
# Certain machines, and those that AWS may take back.
CERTAIN, SPOT = "FARGATE", "FARGATE_SPOT"
CAPACITY_PROVIDERS = (CERTAIN, SPOT)
# Sustained, not best effort: what runs for hours must not see its platform change under it.
_PLATFORM = ecs.FargatePlatformVersion.VERSION1_4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the services of a fleet share."""

    cluster: ecs.Cluster
    network: FleetNetwork
    settings: Settings
    parts: Parts


class FleetService(Construct):
    """A service with a role and a log group of its own."""

    def __init__(self, scope: Construct, construct_id: str, *, ground: Ground) -> None:
        super().__init__(scope, construct_id)
        self._ground = ground
        self._name = construct_id
        self._service_settings = ground.settings.fleet.services[construct_id]
        self.log_group = own_log_group(self, "Logs", settings=ground.settings)
        self.service = self._service(self._definition())
        if ground.settings.fleet.scales and not ground.settings.stopped:
            lanes = ground.settings.fleet.worked_off_by(construct_id)
            scale(
                self,
                Scaled(
                    name=construct_id,
                    stage=ground.settings.stage,
                    service=self.service,
                    queues=[ground.parts.queues.fargate_lanes[lane] for lane in lanes],
                    settings=self._service_settings,
                ),
            )

    def _definition(self) -> ecs.FargateTaskDefinition:
        definition = ecs.FargateTaskDefinition(
            self,
            "Definition",
            cpu=self._service_settings.cpu,
            memory_limit_mib=self._service_settings.memory_mib,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64, operating_system_family=ecs.OperatingSystemFamily.LINUX
            ),
            task_role=self._role(),
            # Twenty gigabytes come with every machine. A file system in memory would count against the runs' own.
            volumes=[ecs.Volume(name="scratch")],
        )
        self._container(definition).add_mount_points(
            ecs.MountPoint(container_path="/tmp", source_volume="scratch", read_only=False)  # noqa: S108 - a volume
        )
        return definition

    def _container(self, definition: ecs.FargateTaskDefinition) -> ecs.ContainerDefinition:
        return definition.add_container(
            _CONTAINER,
            container_name=_CONTAINER,
            image=fleet_image(self, self._ground.settings),
            environment=self._environment(),
            # By reference: what an environment says can be read by whoever may describe the container.
            secrets={WEBHOOK_KEY: ecs.Secret.from_secrets_manager(self._ground.parts.webhook_key)},
            user=USER,
            readonly_root_filesystem=True,
            stop_timeout=cdk.Duration.seconds(STOP_S),
            # Children of handlers that nobody waits for are taken care of; signals are passed on.
            linux_parameters=ecs.LinuxParameters(self, "Linux", init_process_enabled=True),
            health_check=ecs.HealthCheck(
                command=["CMD", "python", "-m", "functions.fargate_worker.probe"],
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(5),
                retries=3,
                start_period=cdk.Duration.seconds(60),
            ),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix=_CONTAINER,
                log_group=self.log_group,
                # A log that is slow must not hold up the runs; what does not fit is lost.
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
                max_buffer_size=cdk.Size.mebibytes(4),
            ),
        )

    def _environment(self) -> dict[str, str]:
        settings = self._ground.settings
        parts = self._ground.parts
        return parts.environment(settings, service=FUNCTION) | {
            TARGETS: parts.environment_of_targets(settings)[TARGETS],
            "TICKWRIGHT_FLEET": self._name,
            "TICKWRIGHT_PLACES": self._service_settings.places_text,
            "TICKWRIGHT_HANDLERS": settings.fleet.handlers,
            "TICKWRIGHT_STOP_S": str(STOP_S),
            "AWS_DEFAULT_REGION": cdk.Aws.REGION,
        }

    def _role(self) -> iam.Role:
        role = iam.Role(
            self,
            "Role",
            description=f"What a machine of the fleet {self._name} of Tickwright may do",
            assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"),
        )
        for grant in GRANTS[FUNCTION]:
            role.add_to_principal_policy(statement_of(grant, self._arns(grant.resource)))
        if self._ground.parts.key is not None:
            role.add_to_principal_policy(key_statement(self._ground.parts.key, function=FUNCTION))
        for statement in target_statements(self._ground.settings):
            role.add_to_principal_policy(statement)
        return role

    def _arns(self, resource: Resource) -> list[str]:
        if resource is not Resource.MACHINES:
            return self._ground.parts.arns(resource)
        cluster = self._ground.cluster.cluster_name
        return [cdk.Stack.of(self).format_arn(service="ecs", resource="task", resource_name=f"{cluster}/*")]

    def _service(self, definition: ecs.FargateTaskDefinition) -> ecs.FargateService:
        network = self._ground.network
        return ecs.FargateService(
            self,
            "Service",
            cluster=self._ground.cluster,
            task_definition=definition,
            desired_count=self._machines(),
            capacity_provider_strategies=list(_strategies(self._service_settings)),
            platform_version=_PLATFORM,
            assign_public_ip=network.public_addresses,
            vpc_subnets=network.subnets,
            security_groups=[network.security_group],
            # New machines first: while a herd waits, a deployment must not take places away.
            min_healthy_percent=100,
            max_healthy_percent=200,
            circuit_breaker=ecs.DeploymentCircuitBreaker(enable=True, rollback=True),
            # A machine that is moved for the sake of balance gives back what it has run for hours.
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
            enable_execute_command=False,
            enable_ecs_managed_tags=True,
            propagate_tags=ecs.PropagatedTagSource.SERVICE,
        )

    def _machines(self) -> int | None:
        """None where their number follows the work: a deployment must not set it back."""
        if self._ground.settings.stopped:
            return 0
        return None if self._ground.settings.fleet.scales else self._service_settings.machines_min


def _strategies(settings: ServiceSettings) -> list[ecs.CapacityProviderStrategy]:
    """Certain machines come first. Spot ones are taken away with two minutes' notice, and give back what they run."""
    if settings.on_demand is None:
        return [ecs.CapacityProviderStrategy(capacity_provider=CERTAIN, weight=1)]
    certain = ecs.CapacityProviderStrategy(capacity_provider=CERTAIN, base=settings.on_demand, weight=0)
    spot = ecs.CapacityProviderStrategy(capacity_provider=SPOT, weight=1)
    return [certain, spot] if settings.on_demand else [spot]
