"""Where a browser finds what an installation's workers have logged about an execution: a query of CloudWatch's console.

The console keeps a query in the address, in a notation of its own that no manual describes: `~(name~value~...)`, where
a text begins with `'` and all but letters, digits and `-.` is `*` and its code, the marks escaped twice. A link that
the console no longer understood would open it without the query.
"""

from collections.abc import Sequence

from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant, to_rfc3339

_TILDE, _QUOTE, _OPEN, _CLOSE = "$257E", "$2527", "$2528", "$2529"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")
_MARGIN_MS = 60_000  # what is written about a run a moment before and after
_LONGEST_MS = 86_400_000  # of one that has not ended: a query is charged for what it reads
_DOMAINS = {"cn-": "console.amazonaws.cn", "us-gov-": "console.amazonaws-us-gov.com"}


def log_link(region: str, log_groups: Sequence[str], execution: Execution) -> str:
    """The query for all that names the execution while it ran, in these log groups."""
    begin = execution.started_at or execution.scheduled_at
    end = execution.finished_at or Instant(begin + _LONGEST_MS)
    query = f'fields @timestamp, @message\n| filter @message like "{execution.ref.id}"\n| sort @timestamp asc'
    members = {
        "end": _text(to_rfc3339(Instant(end + _MARGIN_MS))),
        "start": _text(to_rfc3339(Instant(begin - _MARGIN_MS))),
        "timeType": _text("ABSOLUTE"),
        "tz": _text("UTC"),
        "editorString": _text(query),
        "source": _OPEN + "".join(_TILDE + _text(group) for group in log_groups) + _CLOSE,
    }
    detail = _TILDE.join(f"{name}{_TILDE}{value}" for name, value in members.items())
    home = f"https://{region}.{_domain(region)}/cloudwatch/home?region={region}"
    return f"{home}#logsV2:logs-insights$3FqueryDetail$3D{_TILDE}{_OPEN}{detail}{_CLOSE}"


def no_link(_execution: Execution) -> None:
    """There is no place to show."""


def _domain(region: str) -> str:
    return next((domain for begin, domain in _DOMAINS.items() if region.startswith(begin)), "console.aws.amazon.com")


def _text(value: str) -> str:
    return _QUOTE + "".join(one if one in _PLAIN else "".join(f"*{byte:02x}" for byte in one.encode()) for one in value)
