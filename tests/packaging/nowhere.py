"""The environment of a function whose installation does not exist: enough to import a handler, and to call nothing."""

from tests.support.installation import Installation

_LANES = ("high", "normal", "low", "backfill")
_NOWHERE = "http://127.0.0.1:1"


def environment_of_nothing() -> dict[str, str]:
    """All variables that any function reads, with names that lead nowhere."""
    queues = (*_LANES, *(f"fargate-{lane}" for lane in _LANES), "dead", "intake", "intake-undelivered")
    installation = Installation(
        store_endpoint=_NOWHERE,
        queue_endpoint=_NOWHERE,
        tables={name: name for name in ("jobs", "executions", "journal", "control")},
        queues={name: f"{_NOWHERE}/000000000000/{name}" for name in queues},
    )
    return {**installation.environment, "TICKWRIGHT_LOG_GROUPS": "/packed/worker", "PYTHONTZPATH": ""}
