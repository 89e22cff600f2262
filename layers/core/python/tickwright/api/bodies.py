"""Which shape bodies and queries of the API have: what those of several endpoints share; the rest stands beside this.

The schemas of openapi.json are made from these models. Must not know the rules across fields: domain/job_rules.py reads
what passes here. Unknown names and other types are refused (SEM-API-1): a typing error that is silently ignored is a
job that silently runs otherwise.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tickwright.api.shapes import Shape
from tickwright.domain import limits

WORKER_ID_CHARS_MAX = 128

Text = Annotated[str, Field(min_length=1, max_length=limits.TAG_CHARS_MAX)]
Moment = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
WorkerName = Annotated[str, Field(min_length=1, max_length=WORKER_ID_CHARS_MAX, pattern=r"^[\x21-\x7E]+$")]


class MayBeAbsent(Shape):
    """What may be left out whole: no body is an object without members."""


class Empty(MayBeAbsent):
    """No body, or an empty object."""


class Query(BaseModel):
    """The parameters of a list; their values come as text."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True, defer_build=True
    )

    limit: Annotated[int, Field(ge=1, le=limits.LIST_PAGE_MAX)] = limits.LIST_PAGE_DEFAULT
    next_token: Annotated[str, Field(max_length=1_024)] | None = Field(
        default=None, description="The nextToken of the page before; every other parameter as it was then."
    )


class NoQuery(BaseModel):
    """No parameters."""

    model_config = ConfigDict(extra="forbid", defer_build=True)
