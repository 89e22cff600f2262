"""The paths that wait: machines of a tenant's own claim what is due in a pool.

On AWS a function of their own serves them, so that they take no other request's place. It loads these, and not the
table of all paths (routes.py), of which they are a part.
"""

from tickwright.api import pool_answers, pool_bodies, pools
from tickwright.api.route import Route
from tickwright.domain.tenants import Scope

CLAIMS: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/v1/pools/{name}/claim",
        endpoint=pools.claim,
        scope=Scope.EXECUTIONS_RUN,
        body=pool_bodies.ClaimBody,
        answer=pool_answers.ClaimsJson,
        refusals=(429,),
        says="Claim executions for a machine of the tenant's own",
    ),
)
