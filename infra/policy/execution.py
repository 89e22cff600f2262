"""What the role of CloudFormation has to be allowed, by the kinds of resources that stacks have: a table of services.

`infra/policy/execution.json` and a table of docs/deploy.md are written from it (`make rights`). Whether it fits the
templates, and what AWS says each kind takes, is judged by tests/infra/test_execution.py. Must not know CDK.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

_ROLES = "arn:aws:iam::*:role/Tickwright-*"  # CloudFormation gives them names that begin with their stack's
_OF_SERVICES = "arn:aws:iam::*:role/aws-service-role/*"
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of AWS: the kinds of resources that every stage has of it, and those that a setting brings."""

    name: str  # between `AWS::` and the kind
    kinds: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=lambda: _NONE)
    actions: str = ""  # what its actions begin with; none: they are narrowed below


SERVICES: Final = (
    Service(
        name="ApiGateway",
        kinds=("Account", "Authorizer", "Deployment", "GatewayResponse", "Method", "Resource", "RestApi", "Stage"),
        settings=MappingProxyType({"BasePathMapping": "api_gateway.domain", "DomainName": "api_gateway.domain"}),
        actions="apigateway",
    ),
    Service(
        name="ApplicationAutoScaling", kinds=("ScalableTarget", "ScalingPolicy"), actions="application-autoscaling"
    ),
    Service(name="CloudWatch", kinds=("Alarm", "Dashboard"), actions="cloudwatch"),
    Service(
        name="CodeDeploy",
        settings=MappingProxyType({"Application": "release.canary", "DeploymentGroup": "release.canary"}),
        actions="codedeploy",
    ),
    Service(name="DynamoDB", kinds=("GlobalTable",), actions="dynamodb"),
    Service(
        name="EC2",
        kinds=(
            "FlowLog",
            "InternetGateway",
            "Route",
            "RouteTable",
            "SecurityGroup",
            "Subnet",
            "SubnetRouteTableAssociation",
            "VPC",
            "VPCEndpoint",
            "VPCGatewayAttachment",
        ),
        actions="ec2",
    ),
    Service(name="ECS", kinds=("Cluster", "Service", "TaskDefinition"), actions="ecs"),
    Service(name="Events", kinds=("Rule",), actions="events"),
    Service(name="IAM", kinds=("Policy", "Role")),
    Service(name="KMS", settings=MappingProxyType({"Key": "tables.customer_key"}), actions="kms"),
    Service(
        name="Lambda",
        kinds=("EventInvokeConfig", "EventSourceMapping", "Function", "LayerVersion", "Permission"),
        settings=MappingProxyType({"Alias": "release", "Version": "release"}),
        actions="lambda",
    ),
    Service(name="Logs", kinds=("LogGroup", "MetricFilter"), actions="logs"),
    Service(name="Route53", settings=MappingProxyType({"RecordSet": "api_gateway.domain"}), actions="route53"),
    Service(name="SQS", kinds=("Queue", "QueuePolicy"), actions="sqs"),
    Service(name="SecretsManager", kinds=("Secret",), actions="secretsmanager"),
    Service(
        name="WAFv2",
        settings=MappingProxyType(
            dict.fromkeys(("LoggingConfiguration", "WebACL", "WebACLAssociation"), "api_gateway.waf")
        ),
        actions="wafv2",
    ),
)


def policy() -> dict[str, Any]:
    """What a role of CloudFormation may do that deploys every stage, with every setting; roles are the product's."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            _allowed("Resources", [f"{one.actions}:*" for one in SERVICES if one.actions], "*"),
            _allowed("Code", ["s3:GetObject", "s3:GetObjectVersion"], "arn:aws:s3:::cdk-*-assets-*"),
            _allowed("Bootstrap", ["ssm:GetParameters"], "arn:aws:ssm:*:*:parameter/cdk-bootstrap/*"),
            _allowed(
                "Roles",
                [
                    "iam:AttachRolePolicy",
                    "iam:CreateRole",
                    "iam:DeleteRole",
                    "iam:DeleteRolePermissionsBoundary",
                    "iam:DeleteRolePolicy",
                    "iam:DetachRolePolicy",
                    "iam:GetRole",
                    "iam:GetRolePolicy",
                    "iam:ListAttachedRolePolicies",
                    "iam:ListRolePolicies",
                    "iam:PutRolePermissionsBoundary",
                    "iam:PutRolePolicy",
                    "iam:TagRole",
                    "iam:UntagRole",
                    "iam:UpdateAssumeRolePolicy",
                    "iam:UpdateRole",
                    "iam:UpdateRoleDescription",
                ],
                _ROLES,
            ),
            _allowed("PassedRoles", ["iam:PassRole"], _ROLES, _OF_SERVICES),
            _allowed("RolesOfServices", ["iam:CreateServiceLinkedRole"], _OF_SERVICES),
        ],
    }


def _allowed(sid: str, actions: list[str], *resources: str) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": list(resources)}
