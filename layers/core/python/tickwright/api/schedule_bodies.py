"""What the endpoints that look at schedules take.

Must not know the rules behind the shapes. Promise: SEM-API-1.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tickwright.api.bodies import Moment
from tickwright.api.schedule_shape import Schedule
from tickwright.api.shapes import Shape

PREVIEW_TICKS_MAX = 100


class PreviewBody(Shape):
    """A schedule to be looked at; nothing is kept."""

    schedule: Schedule
    count: Annotated[int, Field(ge=1, le=PREVIEW_TICKS_MAX)] = 10
    from_at: Moment | None = Field(default=None, alias="from", description="Ticks after this instant; now if absent.")


class HerdQuery(BaseModel):
    """Which minutes to count, a day of them at most."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    from_at: Moment | None = Field(default=None, alias="from", description="Its minute is the first; now if absent.")
    to: Moment | None = Field(default=None, description="Its minute is not counted any more; a day later if absent.")
    scope: Literal["tenant", "all"] = Field(
        default="tenant",
        description="Whose ticks: the tenant's own, or everybody's in the installation, which needs the scope `admin`.",
    )
