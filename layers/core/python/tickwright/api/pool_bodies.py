"""What the endpoints of pools take.

Must not know the rules behind the shapes. Promise: SEM-API-1.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tickwright.api.bodies import MayBeAbsent, WorkerName
from tickwright.api.shapes import Shape
from tickwright.domain import limits

_REQUEST_CHARS_MAX = 64


class PoolBody(MayBeAbsent):
    """A fleet of the tenant's own: its machines pull what jobs with a `pool` target are due for."""

    description: Annotated[str, Field(max_length=limits.DESCRIPTION_CHARS_MAX)] | None = None


class DeleteQuery(BaseModel):
    """Whether runs that wait in the pool may end with it."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    force: Literal["true", "false"] = Field(
        default="false",
        description="`true`: also while unfinished runs wait in it; they end DEAD with the reason `pool_deleted`.",
    )


class ClaimBody(Shape):
    """A machine asks for work."""

    worker_id: WorkerName
    most: Annotated[int, Field(ge=1, le=limits.MESSAGES_A_BATCH)] = Field(
        default=1, alias="max", description="How many executions it has room for."
    )
    wait_sec: Annotated[int, Field(ge=0, le=limits.CLAIM_WAIT_S_MAX)] = Field(
        default=0, description="How long to wait for the first. Each is claimed when it is due, never before."
    )
    lanes: Annotated[list[Literal["high", "normal", "low"]], Field(min_length=1, max_length=3)] | None = Field(
        default=None, description="Only jobs of these priorities; all if absent. Higher ones are granted first."
    )
    request_id: Annotated[str, Field(min_length=1, max_length=_REQUEST_CHARS_MAX, pattern=r"^[\x21-\x7E]+$")] | None = (
        Field(
            default=None,
            description="Fresh for each claim. The same again within an hour, from the same worker, claims nothing "
            "new: it is answered with those executions of the first answer that the worker still holds.",
        )
    )
    close: bool = Field(
        default=False,
        description="The last word of a worker that stops without the answer to this `requestId`: it claims nothing, "
        "is answered with what was granted, and what would be granted yet is given back.",
    )
