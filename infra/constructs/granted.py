"""A right of the one table as a statement of a role's policy.

Must not know who is granted it: infra/policy/grants.py does.
"""

from aws_cdk import aws_iam as iam

from infra.policy.grants import Grant

LEADING_KEYS = "dynamodb:LeadingKeys"


def statement_of(grant: Grant, arns: list[str]) -> iam.PolicyStatement:
    """The statement; where a grant names keys, items whose partition key begins otherwise are out of its reach."""
    return iam.PolicyStatement(
        sid=grant.sid,
        actions=list(grant.actions),
        resources=arns,
        conditions=_conditions(grant) if grant.keys else None,
    )


def _conditions(grant: Grant) -> dict[str, dict[str, object]]:
    """`ForAllValues` holds of a request without any key too: such a one is refused by the second."""
    return {
        "ForAllValues:StringLike": {LEADING_KEYS: [f"{prefix}*" for prefix in grant.keys]},
        "Null": {LEADING_KEYS: "false"},
    }
