"""What the endpoints of jobs take.

Must not know the rules behind the shapes. Promise: SEM-API-1.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tickwright.api.bodies import Moment, Query, Text
from tickwright.api.schedule_shape import Schedule
from tickwright.api.shapes import Shape
from tickwright.api.target_shapes import Target
from tickwright.domain import limits
from tickwright.domain.jobs import JobStatus
from tickwright.domain.secrets import MASK

BATCH_JOBS_MAX = 100

ErrorClasses = Annotated[list[Text], Field(max_length=limits.TAGS_MAX)]
Pointer = Annotated[str, Field(max_length=limits.POINTER_CHARS_MAX, examples=["/payload/card/number"])]


class Backoff(Shape):
    """How long to wait before the next attempt: `initialSec`, then `factor` times longer each time, up to `maxSec`."""

    initial_sec: Annotated[float, Field(ge=0, le=limits.BACKOFF_S_MAX, allow_inf_nan=False)] = 10
    factor: Annotated[float, Field(ge=1, le=100, allow_inf_nan=False)] = 2
    max_sec: Annotated[float, Field(ge=0, le=limits.BACKOFF_S_MAX, allow_inf_nan=False)] = 3_600
    jitter: Literal["full", "none"] = "full"


class RetryPolicy(Shape):
    """How often a failure is tried again. An attempt is a claim by a worker."""

    max_attempts: Annotated[int, Field(ge=1, le=limits.ATTEMPTS_MAX)] = 3
    backoff: Backoff = Backoff()
    retry_on: ErrorClasses = Field(default=[], description="Only these error classes are tried again; empty: all.")
    give_up_on: ErrorClasses = Field(default=[], description="These error classes are not tried again.")


class Overlap(Shape):
    """What happens to a tick that finds the run before it unfinished."""

    mode: Literal["skip", "allow"] = "skip"


class CatchUp(Shape):
    """What happens to ticks that were missed."""

    mode: Literal["all", "latest", "none"] | None = None
    window_sec: Annotated[int, Field(ge=60, le=limits.CATCHUP_WINDOW_S_MAX)] | None = None
    on_resume: Literal["skip", "catchup"] = "skip"
    max_runs: Annotated[
        int | None,
        Field(ge=1, le=limits.CATCHUP_RUNS_MAX, description="Of `all`: only the newest so many missed ticks."),
    ] = None
    rate_per_min: Annotated[
        int | None,
        Field(ge=1, le=limits.CATCHUP_RATE_MAX, description="Of `all`: at most so many made up in a minute."),
    ] = None


class JobBody(Shape):
    """A job as its tenant wants it."""

    schedule: Schedule
    target: Target
    payload: Any = Field(default=None, description="Any JSON of up to 262,144 bytes; what the target gets carries it.")
    name: Annotated[str, Field(min_length=1, max_length=limits.NAME_CHARS_MAX)] | None = None
    retry_policy: RetryPolicy | None = None
    timeout_sec: Annotated[int, Field(ge=1, le=limits.TIMEOUT_S_MAX)] | None = Field(
        default=None, description=f"How long one attempt may take; {limits.TIMEOUT_S_DEFAULT} if absent."
    )
    run_deadline_sec: Annotated[int, Field(ge=1, le=limits.RUN_DEADLINE_S_MAX)] | None = Field(
        default=None, description="How long all attempts and the waiting between them may take."
    )
    priority: Literal["high", "normal", "low"] | None = None
    overlap: Overlap | None = None
    catchup: CatchUp | None = None
    tags: Annotated[list[Text], Field(max_length=limits.TAGS_MAX)] | None = None
    owner: Text | None = None
    description: Annotated[str, Field(max_length=limits.DESCRIPTION_CHARS_MAX)] | None = None
    secrets: Annotated[list[Pointer], Field(max_length=2 * limits.SECRETS_MAX)] | None = Field(
        default=None,
        description=f"RFC 6901 pointers to at most {limits.SECRETS_MAX} values of the payload or the target that "
        f"nobody is shown. Answers have {MASK!r} in their place, as in that of headers such as Authorization, "
        "and where the values come back in a result, an error, a checkpoint or a log.",
    )

    def members(self) -> dict[str, object]:
        """What was sent, by the names of the API."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class BatchBody(Shape):
    """Up to a hundred jobs; each is accepted or refused by itself."""

    jobs: Annotated[list[Any], Field(min_length=1, max_length=BATCH_JOBS_MAX)]


class JobsQuery(Query):
    """Which jobs to list; by name (those without one by their id)."""

    prefix: Annotated[str, Field(max_length=limits.NAME_CHARS_MAX)] = Field(
        default="", description="Only names that begin so."
    )
    status: JobStatus | None = None
    tag: Text | None = None


class WriteQuery(BaseModel):
    """Whether the write is only looked at."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True, defer_build=True
    )

    validate_only: Literal["true", "false"] = Field(
        default="false",
        description="`true`: nothing is written, no Idempotency-Key is needed, and the answer, 200, is a preview.",
    )


class EditQuery(WriteQuery):
    """Whether an edit is only looked at, and from when on it counts."""

    effective_from: Moment | None = Field(
        default=None,
        description="The whole edit counts from this instant on; until then the job goes on as it is. Now if absent.",
    )
    drop_waiting: Literal["true", "false"] = Field(
        default="false", description="`true`: this edit takes the place of one that waits, which is forgotten."
    )
