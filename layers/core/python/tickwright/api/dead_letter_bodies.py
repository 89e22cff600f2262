"""What the endpoints of dead letters take.

Must not know the rules behind the shapes. Promise: SEM-API-1.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tickwright.api.bodies import Moment, Query
from tickwright.api.shapes import Shape
from tickwright.domain import limits
from tickwright.domain.redrive_orders import CANARY_MAX, RATE_PER_MIN_DEFAULT, RATE_PER_MIN_MAX

_IDS_AT_ONCE = 100
_ID_CHARS_MAX = 200

JobIdText = Annotated[str, Field(pattern=r"^[a-z2-7]{26}$")]
Word = Annotated[str, Field(min_length=1, max_length=limits.TAG_CHARS_MAX)]
ReasonText = Annotated[str, Field(min_length=1, max_length=limits.DISCARD_REASON_CHARS_MAX)]
DeadReason = Literal["failed", "fatal", "timed_out", "lease_expired", "expired", "pool_deleted"]


class Wanted(BaseModel):
    """Which dead executions are meant; what is left out does not matter."""

    job_id: JobIdText | None = None
    fingerprint: Word | None = None
    error_class: Word | None = None
    reason: DeadReason | None = Field(default=None, description="Its reason, such as `pool_deleted` or `expired`.")
    since: Moment | None = Field(default=None, description="Died at this instant or later.")
    until: Moment | None = Field(default=None, description="Died at this instant or before.")


class DeadLettersQuery(Wanted, Query):
    """Which dead executions to list, newest death first; what is left out does not matter."""


class GroupsQuery(Wanted):
    """Which dead executions to group; as for the list, but there are no pages: the biggest groups are shown."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True, defer_build=True
    )

    limit: Annotated[int, Field(ge=1, le=limits.LIST_PAGE_MAX)] = limits.LIST_PAGE_DEFAULT


class DeadFilterBody(Wanted, Shape):
    """Which dead executions; what is left out does not matter, and one of them must be there: `all` says the rest."""


_ALL_SAYS = "All that has died, in place of `filter`, which may not be empty."
_DRY_RUN_SAYS = "Nothing is written, and the answer, 200, is a count and a few."


class CanaryBody(Shape):
    """The first so many are waited for; if more of them die than may, the order stops."""

    first: Annotated[int, Field(ge=1, le=CANARY_MAX)]
    failures_max: Annotated[int, Field(ge=0, le=CANARY_MAX)] = 0


class RedriveOrderBody(Shape):
    """An order to redrive what a filter finds among what has died by now."""

    filter: DeadFilterBody | None = None
    everything: bool = Field(default=False, alias="all", description=_ALL_SAYS)
    only_count: bool = Field(default=False, alias="dryRun", description=_DRY_RUN_SAYS)
    rate_per_min: Annotated[int, Field(ge=1, le=RATE_PER_MIN_MAX)] = RATE_PER_MIN_DEFAULT
    canary: CanaryBody | None = None


class DiscardBody(Shape):
    """Take dead executions off the list: these, or what a filter finds now, or all."""

    execution_ids: (
        Annotated[list[Annotated[str, Field(max_length=_ID_CHARS_MAX)]], Field(min_length=1, max_length=_IDS_AT_ONCE)]
        | None
    ) = None
    filter: DeadFilterBody | None = None
    everything: bool = Field(default=False, alias="all", description=_ALL_SAYS)
    only_count: bool = Field(default=False, alias="dryRun", description=f"{_DRY_RUN_SAYS} Not beside executionIds.")
    reason: ReasonText | None = Field(default=None, description="Why they are given up. Required, but for a dry run.")


class RerunBody(Shape):
    """What the new run is given: a payload, or a merge patch (RFC 7396) of the payload that the dead one had."""

    payload: Any = Field(default=None, description="Any JSON, as a job's; in place of `patch`.")
    patch: dict[str, Any] | None = Field(
        default=None, description="In place of `payload`: what it does not name stays."
    )
    reason: ReasonText = Field(default="Run again with another payload.", description="Why the dead one is given up.")
