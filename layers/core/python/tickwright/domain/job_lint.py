"""What is allowed in a job and still likely to be a mistake, beyond its schedule alone.

Must not refuse anything, nor know the time of day: the rate of a schedule is looked at from the job's own creation.
"""

import re
from collections.abc import Collection, Iterator
from urllib.parse import parse_qsl, urlsplit

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobSpec
from tickwright.domain.pools import PYTHON_TARGET
from tickwright.domain.schedules import LintNote, count_ticks, from_compact

_HOUR_MS = 3_600_000
_MINUTES = 60
_URL = "/target/url"
# As for headers: the last word of a parameter's name says that its value is a secret.
_SECRET_PARAMETER = re.compile(
    r".*(?:token|secret|passw(?:or)?d|signature|apikey)|(?:.*[-_.])?(?:key|sig|auth)", re.IGNORECASE
)


def job_lint(spec: JobSpec, since: Instant, handlers: Collection[str] | None = None) -> tuple[LintNote, ...]:
    """The notes on a job; `handlers`: what the installation's workers can call, where that is known."""
    return (*_slow_catchup(spec, since), *_unknown_handler(spec, handlers), *_secret_in_url(spec))


def _slow_catchup(spec: JobSpec, since: Instant) -> Iterator[LintNote]:
    rate = spec.catch_up.rate_per_min
    if rate is None:
        return
    ticks, _ = count_ticks(from_compact(spec.schedule), since, Instant(since + _HOUR_MS), rate * _MINUTES + 1)
    if ticks < rate * _MINUTES:
        return
    message = (
        f"missed ticks are made up at {rate} a minute, and new ones come as fast: once behind, the job stays behind "
        "until its window leaves the oldest out; raise ratePerMin, or lower windowSec"
    )
    yield LintNote("slow_catchup", message)


def _unknown_handler(spec: JobSpec, handlers: Collection[str] | None) -> Iterator[LintNote]:
    if handlers is None or spec.target.kind != PYTHON_TARGET or (name := spec.target.settings["handler"]) in handlers:
        return
    known = ", ".join(sorted(handlers)) or "none"
    message = f"no worker here has the handler {name}, so its runs die of UnknownHandler; there are: {known}"
    yield LintNote("unknown_handler", message)


def _secret_in_url(spec: JobSpec) -> Iterator[LintNote]:
    url = spec.target.settings.get("url")
    if not isinstance(url, str) or _URL in spec.secrets:
        return
    try:
        query = urlsplit(url).query
    except ValueError:  # it is refused where it is used
        return
    names = [name for name, value in parse_qsl(query) if value and _SECRET_PARAMETER.fullmatch(name)]
    if names:
        message = (
            f"the URL's {names[0]} looks like a secret, and whoever reads the job is shown it; name {_URL} in secrets"
        )
        yield LintNote("secret_in_url", message)
