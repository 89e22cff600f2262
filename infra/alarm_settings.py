"""When an installation calls somebody, and whom.

Must not know CDK. What each alarm means and what to do about it is in docs/operations.md; every number has its reason
beside it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from infra.required import require

# A hint stays in its queue while its run goes on, and may be sent this long before its time: no age below both is news.
QUEUE_DELAY_S_MAX = 900
# CloudWatch keeps a metric's seconds for three hours; an alarm looks back over a day at most.
LAG_MS_MAX = 3_600_000
# Of a tick that is left for less than this nobody tells (tickwright.domain.limits).
TICK_WAIT_S_MIN = 60

_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSettings:
    """Thresholds, by lane where lanes promise different things. A lane that is not named has no such alarm.

    `topic_arn`: the SNS topic that is told when an alarm begins and when it ends; without one they are only shown.
    `coarse`: one alarm speaks for several things, later and less exactly, each on a single metric: for a stage that
    nobody is called for at night, since each metric of each alarm is paid for by the month.
    `runbook`: where people read docs/operations.md; an address of their own copy, or the path in this repository.
    """

    topic_arn: str | None = None
    runbook: str = "docs/operations.md"
    coarse: bool = False
    # The 99th percentile of a minute's starts: a tenant's second is kept in the lanes that promise it. What may wait is
    # late when it no longer gains.
    dispatch_lag_ms: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({"high": 1_000, "normal": 1_000, "low": 60_000})
    )
    # Of a pool `lambda` lane. A run of 14 minutes and a delay of 15 are no news; half an hour is.
    oldest_hint_s: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({"high": 2_000, "normal": 2_000, "low": 7_200, "backfill": 86_400})
    )
    # Where alarms are coarse, in place of that and of who polls: since a run might have been taken, in any pool of the
    # platform's. What is looked at in the first hour is looked at after 2, 6, 14, 30 and 62 minutes.
    run_waits_s: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({"high": 600, "normal": 600, "low": 3_600, "backfill": 86_400})
    )
    # Since a tick might have been decided that nobody has decided: from a minute on it is missed.
    tick_wait_s: int = TICK_WAIT_S_MIN
    # Accepted while the store did not answer: an outage of so long is one that somebody knows of.
    oldest_submission_s: int = 900
    # Copies of runs that died, in five minutes. With many tenants, whose mistakes are theirs, raise it.
    dead_letters: int = 1
    # Invocations that failed, of one function, in five minutes: none does on purpose.
    function_errors: int = 1
    # The share of requests that were answered 5xx, in five minutes.
    api_errors_percent: float = 1.0
    # Requests of the store or the queues that failed after all tries, in five minutes: a few are a weather of AWS's.
    faults: int = 20

    def __post_init__(self) -> None:
        """Refuse an alarm that could not ring, or that would always."""
        topic_fits = self.topic_arn is None or _TOPIC.fullmatch(self.topic_arn) is not None
        require(topic_fits, "AlarmSettings.topic_arn", self.topic_arn, "arn:aws:sns:REGION:ACCOUNT:NAME, or None")
        # A heading follows.
        runbook_fits = bool(self.runbook) and "#" not in self.runbook
        require(runbook_fits, "AlarmSettings.runbook", self.runbook, "an address or a path, without a #")
        # How late runs start is what an installation is for.
        require(bool(self.dispatch_lag_ms), "AlarmSettings.dispatch_lag_ms", {}, "it names one lane at least")
        for lane, lag_ms in self.dispatch_lag_ms.items():
            allowed = f"from 1 to {LAG_MS_MAX} ms"
            require(1 <= lag_ms <= LAG_MS_MAX, f"AlarmSettings.dispatch_lag_ms[{lane!r}]", lag_ms, allowed)
        for name in ("dead_letters", "function_errors", "faults", "oldest_submission_s"):
            require(getattr(self, name) >= 1, f"AlarmSettings.{name}", getattr(self, name), "1 or more")
        allowed = f"from {TICK_WAIT_S_MIN} s, when it is told of for the first time"
        require(self.tick_wait_s >= TICK_WAIT_S_MIN, "AlarmSettings.tick_wait_s", self.tick_wait_s, allowed)
        percent = self.api_errors_percent
        require(0 < percent < 100, "AlarmSettings.api_errors_percent", percent, "above 0 and below 100")
