"""A name of one's own for the API.

Must not know the routes: the name stands for the whole of the stage, so paths are the same under every name.
"""

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from infra.door_settings import DomainSettings


def name_gateway(scope: Construct, gateway: apigateway.RestApi, *, domain: DomainSettings) -> str:
    """Give the API its name, enter it where a zone is given or say where it points to, and say its address."""
    name = apigateway.DomainName(
        scope,
        "DomainName",
        domain_name=domain.name,
        certificate=acm.Certificate.from_certificate_arn(scope, "Certificate", domain.certificate_arn),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
        mapping=gateway,
    )
    if domain.zone_id is not None and domain.zone_name is not None:
        zone = route53.HostedZone.from_hosted_zone_attributes(
            scope, "Zone", hosted_zone_id=domain.zone_id, zone_name=domain.zone_name
        )
        aim = route53.RecordTarget.from_alias(targets.ApiGatewayDomain(name))
        route53.ARecord(scope, "Record", zone=zone, record_name=f"{domain.name}.", target=aim)
        route53.AaaaRecord(scope, "RecordOfIpv6", zone=zone, record_name=f"{domain.name}.", target=aim)
    else:
        cdk.CfnOutput(
            scope,
            "DomainTarget",
            value=name.domain_name_alias_domain_name,
            description="What the name has to point to: CNAME, or an alias where it is a zone's own",
        )
    return f"https://{domain.name}"
