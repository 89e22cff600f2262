"""When a machine of the fleet asks not to be taken away, and when it lets that go.

Must not know who is asked. What is protected holds up deployments too, so nothing stays protected for ever: a busy
machine takes a break every two hours, in which it may be replaced; its runs are given back, uncounted. Promise:
SEM-FLEET-3.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

_MINUTE_MS: Final = 60_000
# A machine that dies stays "protected" for so long: short enough that nobody waits for it.
PROTECTED_MIN: Final = 15
RENEWED_MS: Final = PROTECTED_MIN * _MINUTE_MS // 2
# CloudFormation gives a deployment up after three hours.
TURN_MS: Final = 120 * _MINUTE_MS
# Time enough for a scheduler that waits for this machine to see that it may go.
BREAK_MS: Final = 2 * _MINUTE_MS
# Short runs come and go by the second, and the number of requests is limited: what has no run for so long lets go.
IDLE_MS: Final = 30_000
# After a request that was refused, or that nobody answered.
AGAIN_MS: Final = _MINUTE_MS


class Step(Enum):
    """What to ask for now."""

    PROTECT = "protect"
    LET_GO = "let_go"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What a machine remembers of its own protection, on its monotonic clock."""

    since_ms: int | None = None  # protected without a break since then
    renewed_ms: int = 0
    idle_since_ms: int | None = None
    not_before_ms: int | None = None  # a break, or a request that failed


def seen(guard: Guard, *, is_busy: bool, now_ms: int) -> Guard:
    """After a look at whether there are runs."""
    if is_busy:
        return replace(guard, idle_since_ms=None)
    return guard if guard.idle_since_ms is not None else replace(guard, idle_since_ms=now_ms)


def step_of(guard: Guard, now_ms: int) -> Step:
    """What to ask for."""
    if guard.not_before_ms is not None and now_ms < guard.not_before_ms:
        return Step.NOTHING
    if guard.since_ms is None:
        return Step.PROTECT if guard.idle_since_ms is None else Step.NOTHING
    if guard.idle_since_ms is not None:
        return Step.LET_GO if now_ms - guard.idle_since_ms >= IDLE_MS else Step.NOTHING
    if now_ms - guard.since_ms >= TURN_MS:
        return Step.LET_GO
    return Step.PROTECT if now_ms - guard.renewed_ms >= RENEWED_MS else Step.NOTHING


def granted(guard: Guard, step: Step, now_ms: int) -> Guard:
    """After a request that was carried out. What is let go while there are runs begins a break."""
    if step is Step.PROTECT:
        since_ms = now_ms if guard.since_ms is None else guard.since_ms
        return replace(guard, since_ms=since_ms, renewed_ms=now_ms, not_before_ms=None)
    resting_until_ms = now_ms + BREAK_MS if guard.idle_since_ms is None else None
    return replace(guard, since_ms=None, not_before_ms=resting_until_ms)


def failed(guard: Guard, now_ms: int) -> Guard:
    """After a request that was not carried out: later again. What is protected ends by itself in any case."""
    return replace(guard, not_before_ms=now_ms + AGAIN_MS)
