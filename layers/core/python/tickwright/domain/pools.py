"""Which workers an execution waits for: a fleet of the platform, or a pool that its tenant's own machines pull from.

Must not know a queue, nor who may write. The platform's pools are everybody's, a tenant's is its alone. Promises:
SEM-POOL-1, SEM-POOL-6.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NewType

from tickwright.domain import limits
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
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

_SHOWN_MAX = 5
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
RESTS = Refusal(
    code=Code.POOL_RESTS,
    detail="The pool was deleted a moment ago and its queues are being removed; put it again after Retry-After.",
)
TOO_MANY = Refusal(
    code=Code.INVALID,
    detail=f"There are {limits.POOLS_OF_TENANT_MAX} pools, the most that a tenant may have; use one of them.",
    errors=(FieldProblem(pointer="path:name", code="too_many", message="Use the name of a pool that exists."),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A tenant's own fleet: jobs may name it. Its machines say themselves who they are.

    One that was deleted is kept for a while, so that whoever changes it meanwhile is told.
    """

    tenant_id: TenantId
    name: PoolName
    description: str | None
    created_at: Instant
    version: int = 1
    deleted_at: Instant | None = None

    @property
    def forgotten_at(self) -> Instant | None:
        """When nothing need be known any more of one that was deleted."""
        return None if self.deleted_at is None else Instant(self.deleted_at + 1_000 * limits.DELETED_POOL_KEPT_S)

    def is_later_than(self, instant: Instant, clock_error_ms: int) -> bool:
        """Whether it was put after an instant, whoever's clock that is of: what came before came to another pool."""
        return instant + 2 * clock_error_ms < self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Who needs a pool: some of the jobs that are not over and name it, and of the unfinished runs that wait in it.

    `count`: how many runs are known to wait. `hints`: how many its queues hold, where not all jobs were looked at: each
    run has had one or more, and one that has ended may have left some.
    """

    jobs: tuple[JobId, ...] = ()
    runs: tuple[ExecutionRef, ...] = ()
    count: int = 0
    hints: int = 0

    def and_more(self, *, jobs: Sequence[JobId], runs: Sequence[ExecutionRef]) -> "Users":
        """These and others."""
        return Users(
            jobs=(*self.jobs, *jobs)[:_SHOWN_MAX],
            runs=(*self.runs, *runs)[:_SHOWN_MAX],
            count=self.count + len(runs),
        )

    def and_hints(self, hints: int) -> "Users":
        """The same, beside what the queues hold."""
        return replace(self, hints=hints)


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


def standing(seen: Pool | None) -> Pool | None:
    """The pool, if there is one and it was not deleted."""
    return None if seen is None or seen.deleted_at is not None else seen


def put_refusal(seen: Pool | None, name: str, if_match: int | None, *, now: Instant) -> Refusal | None:
    """Why a pool cannot be put in place of what was seen; `if_match`: the version that it must have, if any."""
    if not is_pool_name(name):
        return BAD_NAME
    there = standing(seen)
    if if_match is not None and (there is None or there.version != if_match):
        return CHANGED_MEANWHILE
    deleted_at = None if seen is None else seen.deleted_at
    return RESTS if deleted_at is not None and now - deleted_at < 1_000 * limits.POOL_RESTS_S else None


def delete_refusal(seen: Pool | None, if_match: int | None, users: Users, *, force: bool) -> Refusal | None:
    """Why what was seen cannot be deleted; `force`: the runs that wait in it may end with it.

    One that was deleted already is deleted again: its queues may be there still.
    """
    if seen is None:
        return NO_SUCH_POOL
    if if_match is not None and (standing(seen) is None or seen.version != if_match):
        return CHANGED_MEANWHILE
    if users.jobs:
        named = ", ".join(users.jobs)
        detail = f"Jobs that are not over name it, such as {named}; cancel them, or let them name another pool."
        return Refusal(code=Code.POOL_IN_USE, detail=detail)
    is_empty = users.count == users.hints == 0
    return None if is_empty or force else Refusal(code=Code.POOL_IN_USE, detail=_waited_in(users))


def _waited_in(users: Users) -> str:
    held = f"its queues hold {users.hints} hint{'' if users.hints == 1 else 's'} of runs"
    unsure = "not all jobs were looked at, and a run that waits has one or more"
    if not users.count:
        remedy = "Claim from it until nothing comes, or delete it with ?force=true"
        return f"It may be in use: {held}; {unsure}. {remedy}: then what waits in it ends DEAD (pool_deleted)."
    one = users.count == 1
    count = "An unfinished run waits" if one else f"{users.count} unfinished runs wait"
    such = f", such as {', '.join(ref.id for ref in users.runs)}"
    more = f", and {held} ({unsure})" if users.hints > users.count else ""
    remedy = f"claim or cancel {'it' if one else 'them'} first"
    end = f"{'it ends' if one else 'they end'} DEAD (pool_deleted)"
    return f"{count} in it{such}{more}; {remedy}, or delete it with ?force=true: then {end}."


def made_anew(seen: Pool, description: str | None, now: Instant) -> Pool:
    """A pool under the name of one that was deleted."""
    return replace(seen, description=description, created_at=now, version=seen.version + 1, deleted_at=None)


def deleted(seen: Pool, now: Instant) -> Pool:
    """The pool as it is kept after its deletion."""
    return replace(seen, version=seen.version + 1, deleted_at=now)


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
