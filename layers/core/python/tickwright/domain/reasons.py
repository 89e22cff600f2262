"""What each reason means, with which status it stands, and what to do about it; said once, for the docs and the API.

Must not decide: who gives a reason stands where it is given. Promise: SEM-REASON-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tickwright.domain.executions import ASKED_LATER, STOPPED_FOR_DRAINING, Execution, PassedOver, Reason
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.schedules.phrases import counted
from tickwright.domain.transitions import State


@dataclass(frozen=True, slots=True)
class Told:
    """One reason in words: `means` and `remedy` are a sentence each; `dead`: what to do about one that is DEAD of it.

    `remedy` speaks of every status that the reason stands with, for the table; `dead` of one.
    """

    statuses: tuple[State, ...]
    means: str
    remedy: str
    dead: str = ""


_S = State
_FAILED = (_S.RETRY, _S.DEAD)
_STOPPED = (_S.CANCELLING, _S.CANCELLED)
_OR_THE_JOB = "An edit of the job takes POST rerun: a redrive runs it as it was."
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
        "Redrive it if it is still wanted; for the next raise runDeadlineSec or catchup.windowSec."),
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
        "In RETRY wait for the next attempt; when DEAD mend the target and redrive it, or the job and POST rerun.",
        f"Mend the target and redrive it. {_OR_THE_JOB}"),
    Reason.FATAL: Told(
        (_S.DEAD,),
        "It failed in a way that no other attempt can mend; error says how.",
        "Mend the target and redrive it; where the job or its payload was the fault, mend that and POST rerun.",
        f"Mend the target and redrive it. {_OR_THE_JOB}"),
    Reason.TIMED_OUT: Told(
        _FAILED,
        "The attempt took longer than timeoutSec.",
        "Make the target faster or raise timeoutSec; when DEAD redrive it, or after such an edit POST rerun.",
        f"Make the target faster and redrive it, or raise timeoutSec. {_OR_THE_JOB}"),
    Reason.LEASE_EXPIRED: Told(
        _FAILED,
        "The worker stopped sending heartbeats: it died, was cut off, or hung.",
        "Look for the worker's end in its log; its code may have run in part, so go by executionId and leaseEpoch.",
        "Look for the worker's end in its log, mend the cause and redrive it; its code may have run in part."),
    Reason.GIVEN_BACK: Told(
        (_S.RETRY,),
        "The worker gave it back without an attempt: it was stopping, or had no room.",
        "Nothing: it comes again and no attempt was counted."),
    Reason.RETRY_LATER: Told(
        (_S.RETRY,),
        "It asked to be tried later; error says why, if it did.",
        "Nothing: it comes again and no attempt was counted; how often it may ask is bounded."),
}
# fmt: on

# What it was given does not suit it: another attempt with the same would end the same way.
_OF_THE_PAYLOAD = frozenset({"BadPayload"})
_OF_THE_RESULT = frozenset({"BadResult"})
_ENDED_BY_ITSELF = frozenset({Reason.FAILED, Reason.FATAL, Reason.TIMED_OUT, Reason.LEASE_EXPIRED})


def why(execution: Execution) -> str:
    """Its reason in words, what its error says, and what comes next or is to be done; empty without a reason."""
    if execution.reason is None:
        return ""
    told = REASONS[execution.reason]
    passed = None if execution.passed is None else f"This row stands for {_range(execution.passed)}."
    parts = (_means(execution, told), _said(execution), passed, _next(execution, told))
    return f" ({execution.reason.value}). {' '.join(part for part in parts if part)}"


def is_of_its_error(execution: Execution) -> bool:
    """Whether its error is what it is here for: else the error is of an attempt before."""
    return execution.reason in _ENDED_BY_ITSELF


def _means(execution: Execution, told: Told) -> str:
    if was_drained(execution):
        return "Its worker was stopping, so it stopped with work left, and goes on where its checkpoint says."
    return told.means


def was_drained(execution: Execution) -> bool:
    """Whether it stopped with work left because its worker was to stop."""
    error = execution.error
    return execution.reason is Reason.RETRY_LATER and error is not None and error.message == STOPPED_FOR_DRAINING


def _said(execution: Execution) -> str:
    """Its error, or that of its last attempt where it is here for another reason."""
    error = execution.error
    if error is None or was_drained(execution):
        return ""
    message = error.message.strip().removesuffix(".")
    if execution.reason is Reason.RETRY_LATER:
        return f"It said: {message}." if error.error_class == ASKED_LATER else ""
    whose = "Its error" if is_of_its_error(execution) else "The error of its last attempt"
    return f"{whose}: {error.error_class}: {message}." if message else f"{whose}: {error.error_class}."


def _next(execution: Execution, told: Told) -> str:
    gone = execution.discarded
    if gone is not None:
        return f"Nothing is to be done: it was discarded at {to_rfc3339(gone.at)} ({gone.reason})."
    if execution.state is State.RETRY:
        counted_not = execution.reason in {Reason.RETRY_LATER, Reason.GIVEN_BACK}
        return (
            "No attempt was counted, and it comes again by itself." if counted_not else "It is tried again by itself."
        )
    if execution.state is State.DEAD and execution.error is not None and is_of_its_error(execution):
        return _mended(execution.error.error_class, told)
    return told.remedy


def _mended(error_class: str, told: Told) -> str:
    if error_class in _OF_THE_PAYLOAD:
        return "Run it again with another payload by POST rerun: redriven it would be given the same."
    if error_class in _OF_THE_RESULT:
        return "Mend what the handler returns, and redrive it; it has run, so go by executionId."
    return told.dead or told.remedy


def _range(passed: PassedOver) -> str:
    count = counted(passed.count, "tick") if passed.exact else f"at least {counted(passed.count, 'tick')}"
    by = "" if passed.by is None else f", closed by {passed.by}"
    return f"{count} from {to_rfc3339(passed.first)} to {to_rfc3339(passed.last)}{by}"
