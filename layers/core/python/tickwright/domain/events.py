"""What can happen, by name: the one vocabulary of logs, metrics, alarms and docs.

Must not know where an event goes. Each transition emits exactly one. The table in docs/semantics.md is generated from
this file (SEM-EVENT-1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class EventName(Enum):
    """What has happened; the value is the name in logs and metrics, the comment its measurements."""

    JOB_SUBMITTED = "job_submitted"
    JOB_CHANGED = "job_changed"  # label: change (pause, resume, cancel, edit, edit took effect)
    JOB_AIMED_ANEW = "job_aimed_anew"  # new zone rules moved its next tick; labels: was, now
    SCHEDULE_DISAGREEMENT = "schedule_disagreement"  # a second cron engine expects another tick; labels: ours, theirs
    TICK_DECIDED = "tick_decided"  # measurement: dispatchLagMs; label: firedAs
    TICK_REFUSED = "tick_refused"  # another process decided, or the job was changed in time
    TICKS_PASSED_OVER = "ticks_passed_over"  # measurement: count; label: reason
    TICK_WAITS = "tick_waits"  # due, not decided; one a bucket and minute; labels: bucket, jobId; measurement: waitedMs
    TICK_POISONED = "tick_poisoned"  # a job whose tick cannot be decided: it is set aside, the others go on
    EXECUTION_QUEUED = "execution_queued"
    EXECUTION_REDRIVEN = "execution_redriven"  # a new generation of what was dead; measurement: generation
    EXECUTION_DISCARDED = "execution_discarded"  # somebody took a dead one off the list
    REDRIVE_ORDERED = "redrive_ordered"  # an order to redrive many was given
    REDRIVE_ORDER_ENDED = "redrive_order_ended"  # label: status; measurement: redriven
    EXECUTION_SKIPPED = "execution_skipped"  # label: reason
    EXECUTION_CLAIMED = "execution_claimed"  # measurement: startLagMs, of a retry from its backoff's end; label: lane
    CLAIM_REFUSED = "claim_refused"  # label: reason
    EXECUTION_HANDED_OVER = "execution_handed_over"  # somebody else goes on with it, and reports by its epoch
    EXECUTION_SUCCEEDED = "execution_succeeded"  # measurement: durationMs
    EXECUTION_RETRYING = "execution_retrying"  # label: reason; measurement: backoffMs
    EXECUTION_DEAD = "execution_dead"  # label: reason
    EXECUTION_CANCELLED = "execution_cancelled"  # label: reason
    EXECUTION_GIVEN_BACK = "execution_given_back"
    EXECUTION_LEFT = "execution_left"  # its code does not stop with its worker: its lease is left to end
    EXECUTION_REAPED = "execution_reaped"  # label: reason
    LOG_NOT_KEPT = "log_not_kept"  # what an attempt said is lost, all else of it is not; label: fault
    RESULT_REFUSED = "result_refused"  # a zombie's result; label: reason
    HEARTBEAT_REFUSED = "heartbeat_refused"  # label: reason
    HINT_SENT_AGAIN = "hint_sent_again"  # the journal repaired a lost message
    RUNS_WAIT = "runs_wait"  # nobody has taken them, in a platform's pool; label: lane; measurements: runs, waitedMs
    ENTRY_RESOLVED = "entry_resolved"  # label: verdict
    BUCKET_TAKEN = "bucket_taken"
    BUCKET_LOST = "bucket_lost"
    BUCKETS_COUNTED = "buckets_counted"  # each minute, by a scheduler; measurements: served (each look counts), held
    BASE_LOWERED = "base_lowered"  # of the settings, below one that was in force, and not gone by; labels: ours, noted
    ATTEMPT_BROKE = "attempt_broke"  # a bug of ours inside a worker: the hint comes again; label: fault
    LOOP_BROKE = "loop_broke"  # a bug of ours inside a loop: that bucket waits, the others go on; label: fault
    PLACES_COUNTED = "places_counted"  # on a machine of the fleet; measurements: atWork, placesTakenPercent
    PROTECTION_REFUSED = "protection_refused"  # a machine may be taken away while it has runs; labels: step, reason
    SUBMISSION_ACCEPTED = "submission_accepted"  # into the intake: the store does not answer
    SUBMISSION_LANDED = "submission_landed"  # out of the intake; measurement: waitedMs; label: how
    SUBMISSION_WAITS = "submission_waits"  # did not land, and comes again; measurement: waitedMs since its acceptance
    SUBMISSION_REFUSED = "submission_refused"  # as it landed, and set aside; label: code
    COPY_SHOWN = "copy_shown"  # a status was answered from a copy, marked stale; measurement: ageMs
    CACHE_FAULT = "cache_fault"  # label: fault
    STORE_FAULT = "store_fault"  # label: fault
    QUEUE_FAULT = "queue_fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened, with what was measured and what it is about."""

    name: EventName
    measured: Mapping[str, float] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
