"""What the front door lets through, and under which name it is found.

Must not know CDK, nor the routes (infra/stacks/api.py).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """What the front door lets through, for all tenants together; each tenant's own limits are in the product."""

    rate_per_s: int
    burst: int
    # A revoked key opens the door for this long.
    authorizer_cache_s: int
    # Logs of API Gateway need a role that an account has once. False where another stack of the account has set it.
    sets_account_log_role: bool = True
