"""What is refused before the API sees it: callers who ask too often, and requests that no program of ours sends.

Must not know tenants: their own limits are in the product. What AWS's rules find in a body is counted and let pass:
a payload may look like anything, and nobody here interprets it.
"""

from typing import TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from infra.constructs.log_group import own_log_group
from infra.door_settings import WafSettings
from infra.stage_settings import Settings

# Of AWSManagedRulesCommonRuleSet. A body has up to 1 MB, names addresses and holds code; and clients that say no
# name of theirs are programs, which ours are too.
COUNTED = (
    "SizeRestrictions_BODY",
    "CrossSiteScripting_BODY",
    "EC2MetaDataSSRF_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
    "NoUserAgent_HEADER",
)

_Acl = wafv2.CfnWebACL
_Rule: TypeAlias = wafv2.CfnWebACL.RuleProperty
_Visibility: TypeAlias = wafv2.CfnWebACL.VisibilityConfigProperty


class WebAcl(Construct):
    """A web ACL, attached to the stage of the API, that logs what it refuses and no key."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        gateway: apigateway.RestApi,
        settings: Settings,
        waf: WafSettings,
    ) -> None:
        super().__init__(scope, construct_id)
        acl = _Acl(
            self,
            "Acl",
            scope="REGIONAL",
            default_action=_Acl.DefaultActionProperty(allow=_Acl.AllowActionProperty()),
            visibility_config=_seen("Tickwright"),
            rules=[_rate_rule(waf), _common_rules()],
        )
        attached = wafv2.CfnWebACLAssociation(
            self, "Attached", resource_arn=gateway.deployment_stage.stage_arn, web_acl_arn=acl.attr_arn
        )
        attached.node.add_dependency(gateway.deployment_stage)
        self._log(acl, settings)

    def _log(self, acl: wafv2.CfnWebACL, settings: Settings) -> None:
        """WAF writes to groups of this name only."""
        group = own_log_group(self, "Refused", settings=settings, name=f"aws-waf-logs-tickwright-{settings.stage}")
        wafv2.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=acl.attr_arn,
            log_destination_configs=[_plain_arn(group)],
            redacted_fields=[
                wafv2.CfnLoggingConfiguration.FieldToMatchProperty(single_header={"Name": "authorization"})
            ],
            logging_filter={
                "DefaultBehavior": "DROP",
                "Filters": [
                    {
                        "Behavior": "KEEP",
                        "Requirement": "MEETS_ANY",
                        "Conditions": [{"ActionCondition": {"Action": "BLOCK"}}],
                    }
                ],
            },
        )


def _plain_arn(group: logs.LogGroup) -> str:
    """WAF refuses the ARN that ends with what all streams of a group are called."""
    return cdk.Stack.of(group).format_arn(
        service="logs",
        resource="log-group",
        resource_name=group.log_group_name,
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )


def _rate_rule(waf: WafSettings) -> _Rule:
    return _Rule(
        name="TooOften",
        priority=0,
        action=_Acl.RuleActionProperty(block=_Acl.BlockActionProperty()),
        statement=_Acl.StatementProperty(
            rate_based_statement=_Acl.RateBasedStatementProperty(
                limit=waf.requests_of_an_address, aggregate_key_type="IP"
            )
        ),
        visibility_config=_seen("TooOften"),
    )


def _common_rules() -> _Rule:
    counted = [
        _Acl.RuleActionOverrideProperty(
            name=name, action_to_use=_Acl.RuleActionProperty(count=_Acl.CountActionProperty())
        )
        for name in COUNTED
    ]
    return _Rule(
        name="Common",
        priority=1,
        override_action=_Acl.OverrideActionProperty(none={}),
        statement=_Acl.StatementProperty(
            managed_rule_group_statement=_Acl.ManagedRuleGroupStatementProperty(
                vendor_name="AWS", name="AWSManagedRulesCommonRuleSet", rule_action_overrides=counted
            )
        ),
        visibility_config=_seen("Common"),
    )


def _seen(name: str) -> _Visibility:
    return _Visibility(cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=True)
