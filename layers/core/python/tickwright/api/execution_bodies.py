"""What the endpoints of executions take, those of the workers that run them among them.

Must not know the rules behind the shapes. Promise: SEM-API-1.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from tickwright.api.bodies import Query, Text, WorkerName
from tickwright.api.shapes import Shape
from tickwright.domain import limits

TRACE_CHARS_ACCEPTED = 65_536  # the beginning of a long trace is cut, as that of a target's own is
MESSAGE_CHARS_ACCEPTED = 65_536

LeaseEpoch = Annotated[int, Field(ge=1, le=2**53 - 1, description="The epoch of the lease that the worker holds.")]
LogText = Annotated[
    str,
    Field(
        max_length=limits.LOG_CHARS_ACCEPTED,
        description=f"What the attempt has said; its last {limits.LOG_BYTES_MAX} bytes are kept.",
    ),
]
LogCut = Annotated[int, Field(ge=0, le=2**53 - 1, description="How many bytes the worker has cut before `log`.")]
AfterSec = Annotated[float, Field(ge=0, le=limits.RETRY_AFTER_S_MAX, allow_inf_nan=False)]


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


class AttentionQuery(Query):
    """Which executions to list: those that are dead, newest first. All others are listed by job."""

    attention: Literal["true"]
