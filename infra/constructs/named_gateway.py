"""A name of one's own for the API.

Must not know the routes: the name stands for the whole of the stage, so paths are the same under every name.
"""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from infra.door_settings import DomainSettings


def name_gateway(scope: Construct, gateway: apigateway.RestApi, *, domain: DomainSettings) -> str:
    """Give the API its name, enter it where a zone is given, and say its address."""
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
    return f"https://{domain.name}/"
