"""Every bound and every time constant, each with its reason.

Must not know where a bound is enforced. Durations are one value object, so that a test, the chaos run and a
demonstration can run at a twentieth by one setting (protocol 8).
"""

from dataclasses import dataclass, fields

# --- sizes -----------------------------------------------------------------------------------------------------
PAYLOAD_BYTES_MAX = 262_144  # an item holds 400 KB; larger payloads need a place outside the store
BODY_BYTES_MAX = 1_048_576  # semantics 1: any JSON up to 1 MB, of a whole body
SWALLOWED_BYTES_MAX = 33_554_432  # of a body that is refused: so far its sender is heard out, and then told why
RESULT_BYTES_MAX = 32_768  # semantics 5: larger results are handed over by reference
CHECKPOINT_BYTES_MAX = 4_096  # it is written again with each heartbeat that notes anything: five write units
LOG_BYTES_MAX = 16_384  # the end of what an attempt says; all of it is the business of a place for logs
LOG_CHARS_ACCEPTED = 65_536  # of a log that is reported: its beginning is cut, as that of a target's own is
SECRETS_MAX = 20
SECRETS_EVER_MAX = 100  # of all versions of a job: with pointers of the longest they fit beside its payload
POINTER_CHARS_MAX = 256
ERROR_MESSAGE_CHARS_MAX = 2_000  # keeps the execution item at a few write units
ERROR_TRACE_CHARS_MAX = 4_000
NAME_CHARS_MAX = 128
DISCARD_REASON_CHARS_MAX = 500
TAGS_MAX = 20
TAG_CHARS_MAX = 128
DESCRIPTION_CHARS_MAX = 1_024
URL_CHARS_MAX = 2_048
SCHEDULE_BYTES_MAX = (
    280  # of its stored form: then a head is under 1 KB whatever else it holds, and each update one unit
)
POOL_NAME_CHARS_MAX = 32  # it stands in the head, which has a kilobyte for everything
IDEMPOTENCY_KEY_CHARS_MAX = 255  # the field's practice: a UUID fits many times

# --- counts ----------------------------------------------------------------------------------------------------
PAGE_ENTRIES_MAX = 100  # about 60 bytes an entry: a journal page stays under 8 write units
DUE_PAGE = 1_000  # one query of the due index; stale entries of a page must not hide what stands behind them
WAITING_PAGE = 100
JOURNAL_PAGES_A_LOOK = 50
WRITES_A_BATCH = 25  # BatchExecuteStatement's limit
MESSAGES_A_BATCH = 10  # SQS's limit
TRANSACTION_WRITES_MAX = 100  # TransactWriteItems' limit
COUNT_MAX = 1_000_000_000  # of versions and runs that a line of an import counts: no job has lived for so many
LOST_VERSIONS_MAX = 100  # of one job, in a copy of tables: what came in the seconds by which the copy lagged
CALENDAR_VERSIONS_MAX = 100_000  # of one that is imported; an export asks for all, a hundred at a time
BUCKETS_MAX = 1_024  # architecture: the loop reads all of them
LIST_PAGE_DEFAULT = 50
CLAIM_WAIT_S_MAX = 20  # under the 29 s that API Gateway waits for an answer, and as long as a long poll of SQS
SEATS_OF_TENANT_MAX = 100  # they are read together by each claim that would wait
POOLS_OF_TENANT_MAX = 20  # each has a queue a lane, and they are read together to be listed
POOL_JOBS_LOOKED_AT_MAX = 2_000  # of a tenant, for those that name a pool which is to be deleted
LIST_PAGE_MAX = 1_000
DEAD_LOOKED_AT_MAX = 2_000  # of the dead, to count or to group them: a few megabytes are read, in some seconds
DISCARDED_AT_ONCE_MAX = 500  # by a filter in one request; the answer says whether more are left
ORDERS_OPEN_MAX = 5  # orders to redrive of one tenant at a time; each look of the watch goes on with all
ORDERS_KEPT_MAX = 100  # of one tenant, those that have ended a while ago too: they are read together
RETRACTED_MAX = 100_000  # unfinished executions of one job in one request; past it the request is to be repeated
ATTEMPTS_MAX = 100
# Of one execution in one installation. One that is given back each half minute for the 7 days that it may take by
# default is claimed 20,160 times; SQL stores leave room for 19 such eras in the fence of a job.
EPOCHS_AN_ERA = 50_000
EPOCH_BASE_MAX = 1_000_000 - 2 * EPOCHS_AN_ERA  # the last era's highest stays below a million
RETRY_AFTER_MAX = 100  # an execution may ask to be retried later this often without using an attempt
GIVEN_BACK_S_MAX = 30  # the longest pause of an execution that is given back again and again, which is not bounded
PASSED_OVER_COUNT_MAX = 10_000  # past it a range row says "at least"

# --- times in seconds that users may ask for -------------------------------------------------------------------
TIMEOUT_S_DEFAULT = 300
LAMBDA_TIMEOUT_S_MAX = 840  # a function lives 900 s: the rest is for the claim, the report and what is owed
TIMEOUT_S_MAX = 43_200  # SQS's longest visibility, 12 h
RUN_DEADLINE_S_DEFAULT = 7 * 86_400  # protocol 6: how far back a cancel has to look
RUN_DEADLINE_S_MAX = 30 * 86_400  # protocol 6: RUN_AGE_MAX is at most 30 days
BACKOFF_S_MAX = 7 * 86_400
RETRY_AFTER_S_MAX = 7 * 86_400
QUEUE_DELAY_MS_MAX = 900_000  # SQS's longest DelaySeconds
WEBHOOK_OVERLAP_S = 86_400  # a day for people to hand a new signing secret to every receiver
IDEMPOTENCY_S = 2 * 86_400  # semantics 1: 24 h or more; TTL deletion is late but never early
PULL_NOTED_S = 3_600  # a machine that repeats a claim does so within minutes, and by then its leases are over
POOL_RESTS_S = 90  # after its deletion: SQS makes no queue again within 60, and a request that removes it lives 29
FUNCTION_LIVES_S_MAX = 900  # Lambda's own limit
AUTHORIZER_CACHE_S_MAX = 3_600  # API Gateway's own limit
DELETED_POOL_KEPT_S = 7 * 86_400  # far longer than a hint is kept, and than a look at what waits there may be away
RETENTION_S_DEFAULT = 30 * 86_400
RETENTION_S_MIN = 86_400  # twice the insert guard: what was forgotten is never decided again (R8)
CATCHUP_WINDOW_S_DEFAULT = 3_600  # semantics 3: cron and every
ONE_OFF_WINDOW_S_DEFAULT = 86_400  # semantics 3: runAt
CATCHUP_WINDOW_S_MAX = 31 * 86_400
CATCHUP_RUNS_MAX = 1_000  # so far back the walk goes tick by tick: some 20 ms
CATCHUP_RATE_MAX = 240  # a minute: the loop looks four times a second at a job that is behind
CLOSED_AHEAD_MS = 60_000  # how far ahead a closed stretch is passed over in one row: a lifted one waits no longer
COPY_SKEW_MS = 900_000  # how far the parts of one copy may be apart: a Region that lags longer is of little use
EFFECTIVE_AHEAD_S_MAX = 366 * 86_400  # an edit that waits longer is forgotten by the people who made it


# --- while the store does not answer ----------------------------------------------------------------------------
COPY_S_MAX = 900  # a copy of what was shown: what was looked at five minutes before outlasts an outage of ten
COPY_BYTES_MAX = 524_288  # of one: a job with the largest payload, and masks
COPIES_BYTES_MAX = 33_554_432  # in one process; the least recently shown are forgotten first
COPIES_MAX = 20_000  # in one process, however small
KNOWN_KEY_S_MAX = 900  # a key that was good so lately opens the door; one revoked since then does too, until then
CLOCKS_OF_OPERATORS_S = 600  # AWS refuses what is signed over five minutes beside its time: two are so far apart
# A revoked key opens no door after these together: a process that knew it, and API Gateway, which had asked that, and
# what was let in last. What one had begun for the tenant is done then, or never will be. The last: a rest that one
# operator has noted another may end, each by a clock of their own.
DELETED_TENANT_RESTS_S = KNOWN_KEY_S_MAX + AUTHORIZER_CACHE_S_MAX + FUNCTION_LIVES_S_MAX + CLOCKS_OF_OPERATORS_S
# Of a job in one process: read again so often, and older by far than the rows of a deleted tenant when those go.
DEFINITION_KEPT_S = 900
KNOWN_KEYS_MAX = 10_000  # in one process
STORE_PATIENCE_MS = 2_000  # its slowest answers take tens of milliseconds: whoever has a copy waits no longer
STORE_RESTS_MS = 1_000  # after a silence: so long a process shows copies before it asks again
SILENCE_LASTS_MS = 5_000  # so long a silence that was noticed is taken to go on, by those who would insist
SUBMIT_INSISTS_MS = 20_000  # API Gateway waits 29 s; the last try, and the answer, need some of it
INTAKE_AFTER_MS = 5_000  # then a submission goes to the intake, whose queue may take ten more to answer
SUBMISSION_BYTES_MAX = 1_000_000  # of a message: SQS takes 1,048,576 with its envelope
# The record of a submission tells so long after it has ceased to count what became of it: whatever was accepted in its
# time finds it until then, and lands no later. A queue keeps a message for 14 days, and then it is tried for a while.
SUBMISSION_LANDS_S_MAX = 15 * 86_400
LANDING_AGAIN_MS = 30_000  # after a submission that could not land: a thousand tries are eight hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """The time constants of the protocol, in milliseconds; `scaled` shrinks all of them alike."""

    lease_ms: int = 60_000  # three missed heartbeats and a margin
    heartbeat_ms: int = 15_000
    clock_error_ms: int = 1_000  # E: two machines' clocks are never compared without 2E
    bucket_lease_ms: int = 10_000
    bucket_renew_ms: int = 3_000
    lookahead_ms: int = 5_000
    tick_ms: int = 1_000
    first_check_ms: int = 120_000  # most runs have ended by then, so most entries are read once
    recheck_ms_max: int = 3_600_000
    hint_again_ms_max: int = 86_400_000  # a quarter of what a queue keeps: one that is lost is not missed for longer
    watch_ms: int = 10_000
    insert_guard_ms: int = 43_200_000  # 12 h: half the shortest retention (R8)
    missed_after_ms: int = 60_000  # semantics 3: a tick found later than this is missed
    undecided_ms: int = 60_000  # a tick that is left for so long is told of: by then it is missed, for whatever reason

    def __post_init__(self) -> None:
        """Hold the relations that the protocol relies on."""
        assert self.lease_ms > 2 * self.heartbeat_ms
        assert self.lease_ms > 4 * self.clock_error_ms
        assert self.bucket_lease_ms > 2 * self.bucket_renew_ms
        assert self.lookahead_ms > self.tick_ms
        assert self.undecided_ms > 2 * self.bucket_lease_ms + self.clock_error_ms  # a take-over is no news
        assert self.insert_guard_ms < RETENTION_S_DEFAULT * 1_000

    def scaled(self, factor: float) -> "Durations":
        """The same constants at `factor` of their length (0.05 for chaos), at least a millisecond each."""
        assert 0 < factor <= 1
        return Durations(**{f.name: max(1, round(getattr(self, f.name) * factor)) for f in fields(self)})


STANDARD = Durations()
