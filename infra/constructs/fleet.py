"""The pool `fargate`: a cluster, and the services in it, one a kind of machine.

Must not know lanes: the settings say which service serves which. Two kinds of machines in one service could not be told
apart by what scales it, nor by what may be taken away from it.
"""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.constructs.fleet_network import FleetNetwork
from infra.constructs.fleet_service import CAPACITY_PROVIDERS, FleetService, Ground
from infra.parts import Parts
from infra.stage_settings import Settings


class Fleet(Construct):
    """Executions that take hours, and those that are Python of the image."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, parts: Parts) -> None:
        super().__init__(scope, construct_id)
        network = FleetNetwork(self, "Network", settings=settings)
        cluster = ecs.Cluster(
            self,
            "Cluster",
            vpc=network.vpc,
            # Some 20 metrics that are paid for; what is asked of machines, they say themselves (fleet_scaling.py).
            container_insights_v2=ecs.ContainerInsights.DISABLED,
        )
        # On the cluster itself rather than by a resource beside it: no service can then be made before its cluster has
        # the kinds of machines that it asks for, which is refused.
        made = cast("ecs.CfnCluster", cluster.node.default_child)
        made.add_property_override("CapacityProviders", list(CAPACITY_PROVIDERS))
        ground = Ground(cluster=cluster, network=network, settings=settings, parts=parts)
        self.services = {name: FleetService(self, name, ground=ground) for name in settings.fleet.services}
        cdk.Tags.of(self).add("tickwright:pool", "fargate")
