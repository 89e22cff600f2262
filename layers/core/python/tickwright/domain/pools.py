"""Which workers an execution waits for: a fleet of the platform, or a pool that its tenant's own machines pull from.

Must not know a queue, nor who may write. The platform's pools are everybody's, a tenant's is its alone. Promise:
SEM-POOL-1.
"""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NewType

from tickwright.domain import limits
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, FieldProblem, Refusal

if TYPE_CHECKING:
    from tickwright.domain.jobs import Target

PoolName = NewType("PoolName", str)

LAMBDA: Final = PoolName("lambda")
FARGATE: Final = PoolName("fargate")
PLATFORM: Final = (LAMBDA, FARGATE)
POOL_TARGET: Final = "pool"
PYTHON_TARGET: Final = "python"

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_ADVICE = (
    f"Use up to {limits.POOL_NAME_CHARS_MAX} small letters, digits and -, beginning with a letter; not "
    f"{' or '.join(PLATFORM)}."
)
NO_SUCH_POOL = Refusal(code=Code.NOT_FOUND, detail="There is no such pool; check its name.")
CHANGED_MEANWHILE = Refusal(
    code=Code.VERSION_CONFLICT,
    detail="The pool has been changed meanwhile; read it again and repeat the change on that.",
)
BAD_NAME = Refusal(
    code=Code.INVALID,
    detail="This cannot be the name of a pool.",
    errors=(FieldProblem(pointer="path:name", code="bad_value", message=_ADVICE),),
)
TOO_MANY = Refusal(
    code=Code.INVALID,
    detail=f"There are {limits.POOLS_OF_TENANT_MAX} pools, the most that a tenant may have; use one of them.",
    errors=(FieldProblem(pointer="path:name", code="too_many", message="Use the name of a pool that exists."),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A tenant's own fleet: it exists, and jobs may name it. Its machines say themselves who they are."""

    tenant_id: TenantId
    name: PoolName
    description: str | None
    created_at: Instant
    version: int = 1


def is_pool_name(text: str) -> bool:
    """Whether a tenant's pool may have this name: it fits the head of a job, and is none of the platform's."""
    fits = len(text) <= limits.POOL_NAME_CHARS_MAX and _NAME.fullmatch(text) is not None
    return fits and text not in PLATFORM


def pool_of(target: "Target", timeout_s: int) -> PoolName:
    """Where the executions of a job wait.

    Python code, and what takes longer than a function lives, is for the fleet; what a tenant's pool is to run, for it.
    """
    if target.kind == POOL_TARGET:
        return PoolName(str(target.settings["pool"]))
    if target.kind == PYTHON_TARGET or timeout_s > limits.LAMBDA_TIMEOUT_S_MAX:
        return FARGATE
    return LAMBDA


def queue_key(pool: PoolName, tenant_id: TenantId) -> str:
    """What names a pool among all: a name has no slash, so no tenant's can be another's or the platform's."""
    return pool if pool in PLATFORM else f"{tenant_id}/{pool}"


def put_refusal(seen: Pool | None, name: str, if_match: int | None) -> Refusal | None:
    """Why a pool cannot be put in place of what was seen; `if_match`: the version that it must have, if any."""
    if not is_pool_name(name):
        return BAD_NAME
    if if_match is None:
        return None
    return CHANGED_MEANWHILE if seen is None or seen.version != if_match else None


def described(seen: Pool, description: str | None) -> Pool:
    """The pool with this description: itself where nothing changes."""
    if seen.description == description:
        return seen
    return replace(seen, description=description, version=seen.version + 1)


def unknown_refusal(pool: PoolName) -> Refusal:
    """Why a job cannot name this pool."""
    message = f"The pool {pool!r} does not exist; put it with PUT /v1/pools/{pool}, or name another."
    problem = FieldProblem(pointer="/target/pool", code="unknown_pool", message=message)
    return Refusal(
        code=Code.INVALID, detail="The target names a pool that does not exist: see errors.", errors=(problem,)
    )
