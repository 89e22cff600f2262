"""Which shape every body and every query of the API has; the schemas of openapi.json are made from these models.

Must not know the rules across fields: domain/job_rules.py reads what passes here. Unknown names and other types are
refused (SEM-API-1): a typing error that is silently ignored is a job that silently runs otherwise.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from tickwright.api.shapes import Shape
from tickwright.api.target_shapes import Target
from tickwright.domain import limits
from tickwright.domain.jobs import JobStatus
from tickwright.domain.schedules import (
    CALENDAR_DESCRIPTION_CHARS_MAX,
    CALENDAR_ENTRIES_MAX,
    CALENDARS_MAX,
    DAY_TEXT_CHARS_MAX,
    WINDOW_S_MAX,
)
from tickwright.domain.secrets import MASK

WORKER_ID_CHARS_MAX = 128
BATCH_JOBS_MAX = 100
PREVIEW_TICKS_MAX = 100
TRACE_CHARS_ACCEPTED = 65_536  # the beginning of a long trace is cut, as that of a target's own is
MESSAGE_CHARS_ACCEPTED = 65_536


class MayBeAbsent(Shape):
    """What may be left out whole: no body is an object without members."""


class Empty(MayBeAbsent):
    """No body, or an empty object."""


Text = Annotated[str, Field(min_length=1, max_length=limits.TAG_CHARS_MAX)]


class Backoff(Shape):
    """How long to wait before the next attempt: `initialSec`, then `factor` times longer each time, up to `maxSec`."""

    initial_sec: Annotated[float, Field(ge=0, le=limits.BACKOFF_S_MAX, allow_inf_nan=False)] = 10
    factor: Annotated[float, Field(ge=1, le=100, allow_inf_nan=False)] = 2
    max_sec: Annotated[float, Field(ge=0, le=limits.BACKOFF_S_MAX, allow_inf_nan=False)] = 3_600
    jitter: Literal["full", "none"] = "full"


ErrorClasses = Annotated[list[Text], Field(max_length=limits.TAGS_MAX)]


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


# The schedule's own reader (domain/schedules/spec.py) names every member that is wrong; here it need only be an object.
_INSTANT = {"type": "string", "format": "date-time"}
Schedule = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "title": "Schedule",
            "description": "Exactly one of runAt, cron and every.",
            "properties": {
                "runAt": _INSTANT | {"description": "Once, at this instant."},
                "cron": {
                    "description": "Five fields as in crontab(5), or a list: their union.",
                    "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
                },
                "every": {"type": "string", "description": "An ISO 8601 duration, such as PT15M: elapsed time."},
                "phase": {"type": "string", "description": "An ISO 8601 duration: how far from the full period."},
                "timezone": {"type": "string", "description": "An IANA zone.", "default": "UTC"},
                "startAt": _INSTANT,
                "endAt": _INSTANT,
                "maxRuns": {"type": "integer", "minimum": 1},
                "window": {
                    "description": "Seconds after each of its times within which the job has a slot of its own.",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": WINDOW_S_MAX,
                },
                "calendars": {
                    "description": "Calendars of the tenant, by name: where one closes a tick, it is skipped.",
                    "oneOf": [
                        {"type": "string"},
                        {
                            "type": "array",
                            "items": {"type": "string"},
                            "minItems": 1,
                            "maxItems": CALENDARS_MAX,
                            "uniqueItems": True,
                        },
                    ],
                },
                "dayMatch": {"type": "string", "enum": ["or", "and"], "default": "or"},
                "allowSeconds": {"type": "boolean", "default": False},
                "dst": {
                    "type": "object",
                    "properties": {
                        "gap": {"type": "string", "enum": ["shift", "skip"], "default": "shift"},
                        "overlap": {"type": "string", "enum": ["first", "second", "both"], "default": "first"},
                    },
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
            "examples": [{"cron": "30 2 * * 1-5", "timezone": "Europe/Berlin"}, {"every": "PT15M"}],
        }
    ),
]


Pointer = Annotated[str, Field(max_length=limits.POINTER_CHARS_MAX, examples=["/payload/card/number"])]
Moment = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]


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


class PreviewBody(Shape):
    """A schedule to be looked at; nothing is kept."""

    schedule: Schedule
    count: Annotated[int, Field(ge=1, le=PREVIEW_TICKS_MAX)] = 10
    from_at: Moment | None = Field(default=None, alias="from", description="Ticks after this instant; now if absent.")


class CalendarWindowBody(Shape):
    """A stretch of time; its end does not belong to it."""

    start: Moment
    end: Moment


CalendarDay = Annotated[
    str,
    Field(
        min_length=1,
        max_length=DAY_TEXT_CHARS_MAX,
        examples=["2026-12-25", "2026-12-24/2027-01-02", "--12-25"],
        description="A day, a range of days with both its ends, or a day of every year.",
    ),
]


class CalendarBody(Shape):
    """Days and stretches of time that schedules keep out of, or keep to: 1 to 1,000 entries in all."""

    type: Literal["exclude", "include"]
    timezone: str | None = Field(
        default=None, description="The IANA zone in which days are read; absent: each schedule's own."
    )
    days: Annotated[list[CalendarDay], Field(max_length=CALENDAR_ENTRIES_MAX)] = Field(default=[])
    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = Field(default=[])
    windows: Annotated[list[CalendarWindowBody], Field(max_length=CALENDAR_ENTRIES_MAX)] = Field(default=[])
    description: Annotated[str, Field(max_length=CALENDAR_DESCRIPTION_CHARS_MAX)] | None = None


class BatchBody(Shape):
    """Up to a hundred jobs; each is accepted or refused by itself."""

    jobs: Annotated[list[Any], Field(min_length=1, max_length=BATCH_JOBS_MAX)]


LeaseEpoch = Annotated[int, Field(ge=1, le=2**53 - 1, description="The epoch of the lease that the worker holds.")]
WorkerName = Annotated[str, Field(min_length=1, max_length=WORKER_ID_CHARS_MAX, pattern=r"^[\x21-\x7E]+$")]


class HeartbeatBody(Shape):
    """A worker says that it is still running an attempt, and what it notes; what is absent or null stays as noted."""

    worker_id: WorkerName
    lease_epoch: LeaseEpoch
    progress: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, description="How far the run is: 1 is all of it."
    )
    checkpoint: Any = Field(
        default=None,
        description=f"Any JSON of up to {limits.CHECKPOINT_BYTES_MAX} bytes: the next attempt is handed it.",
    )


LogText = Annotated[
    str,
    Field(
        max_length=limits.LOG_CHARS_ACCEPTED,
        description=f"What the attempt has said; its last {limits.LOG_BYTES_MAX} bytes are kept.",
    ),
]
LogCut = Annotated[int, Field(ge=0, le=2**53 - 1, description="How many bytes the worker has cut before `log`.")]


class CompleteBody(Shape):
    """A worker says that an attempt has succeeded."""

    lease_epoch: LeaseEpoch
    result: Any = Field(default=None, description=f"Any JSON of up to {limits.RESULT_BYTES_MAX} bytes.")
    log: LogText = ""
    log_cut: LogCut = 0


class ErrorBody(Shape):
    """What went wrong: a class to group and to decide by, and a message for people."""

    error_class: Text = Field(alias="class")
    message: Annotated[str, Field(max_length=MESSAGE_CHARS_ACCEPTED)] = ""
    trace: Annotated[str, Field(max_length=TRACE_CHARS_ACCEPTED)] = ""


AfterSec = Annotated[float, Field(ge=0, le=limits.RETRY_AFTER_S_MAX, allow_inf_nan=False)]


class FailBody(Shape):
    """A worker says how an attempt failed.

    `failure` is tried again by the job's policy, `fatal` is not. `retryLater` (the code asks for it) and `notRun` (the
    worker did not get to it, or stops) come again and do not count; what is given back again and again waits longer.
    """

    lease_epoch: LeaseEpoch
    kind: Literal["failure", "fatal", "retryLater", "notRun"] = "failure"
    error: ErrorBody | None = Field(
        default=None, description="Required if kind is failure or fatal; beside retryLater it says why."
    )
    after_sec: AfterSec | None = Field(
        default=None, description="Wait at least so long before the next attempt. Required if kind is retryLater."
    )
    log: LogText = ""
    log_cut: LogCut = 0


class Query(BaseModel):
    """The parameters of a list; their values come as text."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True, defer_build=True
    )

    limit: Annotated[int, Field(ge=1, le=limits.LIST_PAGE_MAX)] = limits.LIST_PAGE_DEFAULT
    next_token: Annotated[str, Field(max_length=1_024)] | None = Field(
        default=None, description="The nextToken of the page before; every other parameter as it was then."
    )


class JobsQuery(Query):
    """Which jobs to list; by name (those without one by their id)."""

    prefix: Annotated[str, Field(max_length=limits.NAME_CHARS_MAX)] = Field(
        default="", description="Only names that begin so."
    )
    status: JobStatus | None = None
    tag: Text | None = None


class AttentionQuery(Query):
    """Which executions to list: those that are dead, newest first. All others are listed by job."""

    attention: Literal["true"]


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


class HerdQuery(BaseModel):
    """Which minutes to count, a day of them at most."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    from_at: Moment | None = Field(default=None, alias="from", description="Its minute is the first; now if absent.")
    to: Moment | None = Field(default=None, description="Its minute is not counted any more; a day later if absent.")
    scope: Literal["tenant", "all"] = Field(
        default="tenant",
        description="Whose ticks: the tenant's own, or everybody's in the installation, which needs the scope `admin`.",
    )


class NoQuery(BaseModel):
    """No parameters."""

    model_config = ConfigDict(extra="forbid", defer_build=True)
