"""Records of an export as lines of JSON: one object a line, which names its kind and holds the domain's own members.

Must not know what a record is for. A line of a newer form than this program knows is refused.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from tickwright.domain.exports import FORMAT, CalendarVersion, Closing, JobExport, Opening, Record
from tickwright.domain.pools import Pool
from tickwright.domain.webhooks import Rotation

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
    record: Record = adapter.validate_json(json.dumps(members))
    if isinstance(record, Opening) and record.form > FORMAT:
        raise ValueError(f"its form is {record.form}, and this program knows up to {FORMAT}: update it")
    return record
