"""What each reason means, with which status it stands, and what to do about it; said once, for the docs and the API.

Must not decide: who gives a reason stands where it is given. Promise: SEM-REASON-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tickwright.domain.executions import ASKED_LATER, Execution, PassedOver, Reason
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.schedules.phrases import counted
from tickwright.domain.transitions import State


@dataclass(frozen=True, slots=True)
class Told:
    """One reason in words: `means` and `remedy` are a sentence each."""

    statuses: tuple[State, ...]
    means: str
    remedy: str


_S = State
_FAILED = (_S.RETRY, _S.DEAD)
_STOPPED = (_S.CANCELLING, _S.CANCELLED)
# fmt: off
REASONS: Mapping[Reason, Told] = {
    Reason.MISSED: Told(
        (_S.SKIPPED,),
        "It was found over 60 s late and catchup passes over it.",
        "Set catchup.mode or catchup.windowSec if such ticks shall be made up, or run the job by hand."),
    Reason.PAUSED: Told(
        (_S.SKIPPED, *_STOPPED),
        "The job was paused at its time.",
        "Nothing, if that was meant; with catchup.onResume: catchup the next resume makes up what a pause holds back."),
    Reason.OVERLAP: Told(
        (_S.SKIPPED,),
        "The run before it was unfinished at its time, and overlap.mode is skip.",
        "Fire less often, bound runs with timeoutSec, or set overlap.mode to allow if two may run at once."),
    Reason.QUEUE_FULL: Told(
        (_S.SKIPPED,),
        "As many ticks as may wait were waiting already.",
        "Nothing: this version lets no tick wait for another, and does not give it."),
    Reason.BLACKOUT: Told(
        (_S.SKIPPED,),
        "A calendar that the schedule names closed it; passedOver.closedBy says which version of which.",
        "Change the calendar, or what the schedule names, if it should have fired."),
    Reason.DST_GAP: Told(
        (_S.SKIPPED,),
        "The clock jumped over its local time, and dst.gap is skip.",
        "Set dst.gap to shift, so that it fires at the first instant after the gap, or choose another time."),
    Reason.UPSTREAM_FAILED: Told(
        (_S.SKIPPED,),
        "A run that it depends on failed.",
        "Nothing: this version has no dependencies, and does not give it."),
    Reason.EXPIRED: Told(
        (_S.DEAD,),
        "Its time was over before it could start or be tried again: the run deadline, or a one-off's catch-up window.",
        "Raise runDeadlineSec or catchup.windowSec if that was too short; redrive it if it is still wanted."),
    Reason.POOL_DELETED: Told(
        (_S.DEAD,),
        "The pool that it waited in was deleted, so no machine could have claimed it.",
        "Put the pool again and redrive it; or let the job name another pool, and run it again with POST rerun."),
    Reason.ABANDONED: Told(
        (_S.CANCELLED,),
        "The request that asked for this run was cut off before the run was queued.",
        "Ask for the run again."),
    Reason.JOB_CANCELLED: Told(
        _STOPPED,
        "The job was cancelled, and with it whatever was unfinished.",
        "Submit the job anew if it shall go on."),
    Reason.CANCELLED: Told(
        _STOPPED,
        "Somebody cancelled this execution.",
        "Run the job by hand if it is wanted after all."),
    Reason.FAILED: Told(
        _FAILED,
        "The target failed; error says how.",
        "In RETRY wait for the next attempt; when DEAD mend the cause and redrive it."),
    Reason.FATAL: Told(
        (_S.DEAD,),
        "The target failed in a way that no other attempt can mend, such as a 4xx answer; error says how.",
        "Mend the target or what it is sent, then redrive it."),
    Reason.TIMED_OUT: Told(
        _FAILED,
        "The attempt took longer than timeoutSec.",
        "Make the target faster or raise timeoutSec; when DEAD redrive it."),
    Reason.LEASE_EXPIRED: Told(
        _FAILED,
        "The worker stopped sending heartbeats: it died, was cut off, or hung.",
        "Look for the worker's end in its log; its code may have run in part, so go by executionId and leaseEpoch."),
    Reason.GIVEN_BACK: Told(
        (_S.RETRY,),
        "The worker gave it back without an attempt: it was stopping, or had no room.",
        "Nothing: it comes again and no attempt was counted."),
    Reason.RETRY_LATER: Told(
        (_S.RETRY,),
        "The target asked to be tried later; error says why, if it did.",
        "Nothing: it comes again and no attempt was counted; how often it may ask is bounded."),
}
# fmt: on


def why(execution: Execution) -> str:
    """Its reason in words, with what to do; empty where its state says it all."""
    if execution.reason is None:
        return ""
    told = REASONS[execution.reason]
    error = execution.error
    asked = execution.reason is Reason.RETRY_LATER and error is not None and error.error_class == ASKED_LATER
    said = f" It said: {error.message.removesuffix('.')}." if asked and error is not None else ""
    passed = "" if execution.passed is None else f" This row stands for {_range(execution.passed)}."
    gone = execution.discarded
    remedy = told.remedy if gone is None else f"Nothing: it was discarded at {to_rfc3339(gone.at)} ({gone.reason})."
    return f" ({execution.reason.value}). {told.means}{said}{passed} {remedy}"


def _range(passed: PassedOver) -> str:
    count = counted(passed.count, "tick") if passed.exact else f"at least {counted(passed.count, 'tick')}"
    by = "" if passed.by is None else f", closed by {passed.by}"
    return f"{count} from {to_rfc3339(passed.first)} to {to_rfc3339(passed.last)}{by}"
