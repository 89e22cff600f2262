"""Which shape a schedule has in a body; the schema of openapi.json is made from it.

Must not know the rules behind the shape: domain/schedules has those. Promise: SEM-API-1.
"""

from typing import Annotated, Any

from pydantic import WithJsonSchema

from tickwright.domain.schedules import CALENDARS_MAX, WINDOW_S_MAX

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
