"""What is allowed in a job and still likely to be a mistake, beyond its schedule alone.

Must not refuse anything, nor know the time of day: the rate of a schedule is looked at from the job's own creation.
"""

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobSpec
from tickwright.domain.schedules import LintNote, count_ticks, from_compact

_HOUR_MS = 3_600_000
_MINUTES = 60


def job_lint(spec: JobSpec, since: Instant) -> tuple[LintNote, ...]:
    """The notes on a job."""
    rate = spec.catch_up.rate_per_min
    if rate is None:
        return ()
    ticks, _ = count_ticks(from_compact(spec.schedule), since, Instant(since + _HOUR_MS), rate * _MINUTES + 1)
    if ticks < rate * _MINUTES:
        return ()
    message = (
        f"missed ticks are made up at {rate} a minute, and new ones come as fast: once behind, the job stays behind "
        "until its window leaves the oldest out; raise ratePerMin, or lower windowSec"
    )
    return (LintNote("slow_catchup", message),)
