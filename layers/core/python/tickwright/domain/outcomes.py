"""What a user is told when something is not done: a code, where it is wrong, and what to change.

Must not know HTTP: the API maps codes to statuses. Promise: SEM-API-1 (every refusal says what to change, and changes
nothing).
"""

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """Why something is refused; the value is the `code` of the answer."""

    MALFORMED_JSON = "malformed_json"
    INVALID = "invalid"  # errors[] says what
    TOO_LARGE = "too_large"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    PENDING = "pending"  # a job that was accepted while the store did not answer, and is none yet
    METHOD_NOT_ALLOWED = "method_not_allowed"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    IDEMPOTENCY_KEY_MISSING = "idempotency_key_missing"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IDEMPOTENCY_IN_PROGRESS = "idempotency_in_progress"
    NAME_TAKEN = "name_taken"
    IF_MATCH_MISSING = "if_match_missing"
    VERSION_CONFLICT = "version_conflict"
    EDIT_WAITS = "edit_waits"  # an edit with effectiveFrom waits: another must say that it takes its place
    JOB_OVER = "job_over"  # cancelled or ended: it cannot be paused, resumed, edited or run
    OVERLAP = "overlap"  # a run of the job is unfinished and its policy does not allow another
    ALREADY_FINISHED = "already_finished"
    NOT_DEAD = "not_dead"
    DISCARDED = "discarded"  # taken off the list of the dead: it is not run again under another payload
    ORDER_OVER = "order_over"  # the order has ended
    POOL_IN_USE = "pool_in_use"  # jobs that are not over name it, or runs wait in it
    POOL_RESTS = "pool_rests"  # it was deleted a moment ago, and its queues are being removed
    TOO_MANY_ORDERS = "too_many_orders"
    TOO_MANY_CLAIMS = "too_many_claims"  # of one tenant wait; none is refused that asks for no wait
    LEASE_LOST = "lease_lost"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    UNFINISHED = "unfinished"  # a retract has more to do than one request may; repeat it
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


RETRYABLE = frozenset(
    {
        Code.IDEMPOTENCY_IN_PROGRESS,
        Code.VERSION_CONFLICT,
        Code.OVERLAP,
        Code.PENDING,
        Code.POOL_RESTS,
        Code.TOO_MANY_CLAIMS,
        Code.UNFINISHED,
        Code.UNAVAILABLE,
        Code.INTERNAL,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """One thing wrong in a request's body: an RFC 6901 pointer, a code, and what to change."""

    pointer: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that was not carried out, and that changed nothing."""

    code: Code
    detail: str
    errors: tuple[FieldProblem, ...] = ()

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code in RETRYABLE


NO_SUCH_JOB = Refusal(code=Code.NOT_FOUND, detail="There is no such job; check the jobId.")
JOB_PENDING = Refusal(
    code=Code.PENDING,
    detail="It was accepted and may be no job yet: ask again, or submit it again with its key; that says more.",
)
NO_SUCH_VERSION = Refusal(code=Code.NOT_FOUND, detail="The job has no such version; list its versions.")
VERSION_LOST = Refusal(
    code=Code.NOT_FOUND,
    detail="The job's definition was lost in a recovery of the installation. Cancel it, which is done though it is "
    "answered like this, and submit it anew.",
)
LACKS_SECRETS = Refusal(
    code=Code.INVALID,
    detail="The job was imported without the values that it calls secret, and would run with masks; edit it with them "
    "(with dropWaiting=true, where an edit waits), then resume it or run it.",
)
NO_SUCH_ORDER = Refusal(code=Code.NOT_FOUND, detail="There is no such order; it is kept for a week after its end.")
NO_SUCH_EXECUTION = Refusal(code=Code.NOT_FOUND, detail="There is no such execution; check the executionId.")
