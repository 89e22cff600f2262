"""A right of the one table as a statement of a role's policy.

Must not know who is granted it: infra/policy/grants.py does.
"""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from infra.policy.grants import GRANTS, Grant, Resource

LEADING_KEYS = "dynamodb:LeadingKeys"
# The queues under that key: whoever puts into one or receives from one uses the key through SQS.
_ENCRYPTED_QUEUES = {Resource.INTAKE, Resource.INTAKE_UNDELIVERED}
# What DynamoDB asks of whoever reads or writes a table under a key of one's own.
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)


def statement_of(grant: Grant, arns: list[str]) -> iam.PolicyStatement:
    """The statement; where a grant names keys, items whose partition key begins otherwise are out of its reach."""
    return iam.PolicyStatement(
        sid=grant.sid,
        actions=list(grant.actions),
        resources=arns,
        conditions=_conditions(grant) if grant.keys else None,
    )


def key_statement(key: kms.IKey, *, function: str) -> iam.PolicyStatement:
    """The use of the tables' key, through DynamoDB, for the intake's queues through SQS, and in no other way."""
    region = cdk.Stack.of(key).region
    has_queues = any(grant.resource in _ENCRYPTED_QUEUES for grant in GRANTS[function])
    services = ("dynamodb", "sqs") if has_queues else ("dynamodb",)
    return iam.PolicyStatement(
        sid="Key",
        actions=list(KEY_ACTIONS),
        resources=[key.key_arn],
        conditions={"StringEquals": {"kms:ViaService": [f"{service}.{region}.amazonaws.com" for service in services]}},
    )


def _conditions(grant: Grant) -> dict[str, dict[str, object]]:
    """`ForAllValues` holds of a request without any key too: such a one is refused by the second."""
    return {
        "ForAllValues:StringLike": {LEADING_KEYS: [f"{prefix}*" for prefix in grant.keys]},
        "Null": {LEADING_KEYS: "false"},
    }
