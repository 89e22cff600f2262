"""Where the machines of the fleet stand: subnets that exist, or a small network of its own.

Must not know what runs there. The network of its own has public subnets, no way in, and no NAT: an address costs $3.65
a month and machine, a NAT $33 a zone and its traffic, endpoints for SQS, ECR and logs $58 in two zones; and handlers
that call the world need a way out in any case. DynamoDB and S3 (the layers of images) are reached inside AWS, free.
"""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.constructs.log_group import own_log_group
from infra.fleet_settings import NetworkSettings
from infra.stage_settings import Settings

# A thousand machines a zone; a range that few networks use, so that it can be joined with others.
_RANGE, _SUBNET_BITS, _ZONES = "10.83.0.0/20", 22, 2


class FleetNetwork(Construct):
    """A network, the subnets in it, and a security group that lets nobody in."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        given = settings.fleet.network
        self.vpc = self._own(settings) if given is None else self._given(given)
        self.subnets = self._subnets(given)
        self.public_addresses = given is None or given.public_addresses
        self.security_group = ec2.SecurityGroup(
            self,
            "Machines",
            vpc=self.vpc,
            description="Machines of the fleet: out to everywhere, in from nowhere",
            allow_all_outbound=True,
        )

    def _own(self, settings: Settings) -> ec2.IVpc:
        return ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(_RANGE),
            max_azs=_ZONES,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Machines",
                    subnet_type=ec2.SubnetType.PUBLIC,
                    cidr_mask=_SUBNET_BITS,
                    map_public_ip_on_launch=False,
                )
            ],
            gateway_endpoints={
                name: ec2.GatewayVpcEndpointOptions(service=service)
                for name, service in (
                    ("DynamoDb", ec2.GatewayVpcEndpointAwsService.DYNAMODB),
                    ("S3", ec2.GatewayVpcEndpointAwsService.S3),
                )
            },
            # Nothing is ever put into it, and emptying it takes a function of CDK's with rights over security groups.
            restrict_default_security_group=False,
            flow_logs=self._refused_traffic(settings) if settings.fleet.flow_logs else None,
        )

    def _refused_traffic(self, settings: Settings) -> dict[str, ec2.FlowLogOptions]:
        """What is let through is in the logs of whoever sent it; what knocks in vain is nowhere else."""
        group = own_log_group(self, "RefusedTraffic", settings=settings)
        return {
            "Refused": ec2.FlowLogOptions(
                destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
                traffic_type=ec2.FlowLogTrafficType.REJECT,
                max_aggregation_interval=ec2.FlowLogMaxAggregationInterval.TEN_MINUTES,
            )
        }

    def _given(self, given: NetworkSettings) -> ec2.IVpc:
        return ec2.Vpc.from_vpc_attributes(
            self, "Vpc", vpc_id=given.vpc_id, availability_zones=sorted(set(given.availability_zones))
        )

    def _subnets(self, given: NetworkSettings | None) -> ec2.SubnetSelection:
        if given is None:
            return ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
        pairs = zip(given.subnet_ids, given.availability_zones, strict=True)
        return ec2.SubnetSelection(
            subnets=[
                ec2.Subnet.from_subnet_attributes(self, f"Subnet{number}", subnet_id=subnet, availability_zone=zone)
                for number, (subnet, zone) in enumerate(pairs)
            ]
        )
