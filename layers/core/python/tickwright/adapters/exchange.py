"""Records of an export as lines of JSON: one object a line, which names its kind and holds the domain's own members.

Must not know what a record is for. A line of a newer form than this program knows is refused. What is said of a line
that cannot be read has nothing of its values: it may hold secrets.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from tickwright.domain.exports import FORMAT, CalendarVersion, Closing, JobExport, Opening, Record
from tickwright.domain.pools import Pool
from tickwright.domain.webhooks import Rotation

_TOLD_MAX: Final = 3
_KINDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "tenant": TypeAdapter(Opening),
    "webhookRotation": TypeAdapter(Rotation),
    "pool": TypeAdapter(Pool),
    "calendar": TypeAdapter(CalendarVersion),
    "job": TypeAdapter(JobExport),
    "end": TypeAdapter(Closing),
}
_KIND_OF: Final[Mapping[type, str]] = {
    Opening: "tenant",
    Rotation: "webhookRotation",
    Pool: "pool",
    CalendarVersion: "calendar",
    JobExport: "job",
    Closing: "end",
}


def line_of(record: Record) -> str:
    """One line, without its end."""
    kind = _KIND_OF[type(record)]
    members = _KINDS[kind].dump_python(record, mode="json")
    return json.dumps({"kind": kind} | members, ensure_ascii=False, separators=(",", ":"))


def record_of(line: str) -> Record:
    """The record of a line; ValueError says what is wrong with it."""
    try:
        members = json.loads(line)
    except RecursionError as fault:
        raise ValueError("it is nested too deeply for a line of an export") from fault
    kind = members.pop("kind", None) if isinstance(members, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError("it is no line of an export")
    adapter = _KINDS[kind]
    try:
        record: Record = adapter.validate_json(json.dumps(members))
    except ValidationError as fault:
        raise ValueError(_told(fault)) from None
    if isinstance(record, Opening) and record.form > FORMAT:
        raise ValueError(f"its form is {record.form}, and this program knows up to {FORMAT}: update it")
    return record


def _told(fault: ValidationError) -> str:
    """Where something is wrong, and what: no value, and nothing that was made of one."""
    errors = fault.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['type']}" for error in errors[:_TOLD_MAX])
