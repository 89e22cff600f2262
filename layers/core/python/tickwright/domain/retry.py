"""After how long a failed attempt is tried again, and whether it is.

Must not draw random numbers or read a clock: the fraction of the jitter comes in as an argument. Promises:
SEM-RETRY-1, SEM-RETRY-2.
"""

from dataclasses import dataclass
from enum import Enum

from tickwright.domain import limits


class Jitter(Enum):
    """How a backoff is spread.

    `full` draws from zero to the whole backoff, so that a herd of failures does not come back as one.
    """

    FULL = "full"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and after how long a failure is tried again; an attempt is a claim."""

    max_attempts: int = 3
    initial_s: float = 10.0
    factor: float = 2.0
    backoff_s_max: float = 3_600.0
    jitter: Jitter = Jitter.FULL
    retry_on: tuple[str, ...] = ()
    give_up_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Hold the bounds that the API has checked."""
        assert 1 <= self.max_attempts <= limits.ATTEMPTS_MAX
        assert 0 <= self.initial_s <= self.backoff_s_max <= limits.BACKOFF_S_MAX
        assert self.factor >= 1

    def may_retry(self, error_class: str, *, attempt: int, attempts_max: int) -> bool:
        """Whether a failure of this class, in this attempt (1 is the first), is tried again."""
        if attempt >= attempts_max or error_class in self.give_up_on:
            return False
        return not self.retry_on or error_class in self.retry_on

    def backoff_ms(self, *, attempt: int, fraction: float) -> int:
        """How long to wait after the failure of this attempt; `fraction` in [0, 1) is the draw of the jitter."""
        assert attempt >= 1
        assert 0 <= fraction < 1
        whole_s = self.initial_s
        for _ in range(attempt - 1):  # not a power: a large factor overflows a float long before the cap is reached
            whole_s = min(whole_s * self.factor, self.backoff_s_max)
        spread = fraction if self.jitter is Jitter.FULL else 1.0
        return round(whole_s * spread * 1_000)
