"""How an execution is moved by those who report no result. The meaning: domain/changes/moves.py.

Must not know a table's name. A test compares the states and fences of every condition with domain/transitions.py.
"""

from tickwright.adapters.dynamodb.expressions.write import Write
from tickwright.domain.transitions import Event, State

_CANCEL = """
    SET #state = :cancelled, #finishedAt = :now, #ttl = :ttl
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #owed
"""
_CANCEL_OWING = """
    SET #state = :cancelled, #finishedAt = :now, #owed = :owed
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #ttl
"""

STOP = Write(
    says="The holder says that it has stopped, as it was asked to; nothing owed.",
    condition="#state = :cancelling AND #leaseEpoch = :epoch",
    update=_CANCEL,
    moves=(Event.STOPPED, State.CANCELLED),
)
STOP_OWING = Write(
    says="The holder says that it has stopped; what is owed is noted in the same write (R14).",
    condition="#state = :cancelling AND #leaseEpoch = :epoch",
    update=_CANCEL_OWING,
    moves=(Event.STOPPED, State.CANCELLED),
)
REAP_STOPPING = Write(
    says="A run that was asked to stop and whose lease is over by twice the clock error has stopped; nothing owed.",
    condition="""
        #state = :cancelling AND #leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil AND #leaseUntil < :leaseOver
    """,
    update=_CANCEL,
    moves=(Event.REAP, State.CANCELLED),
)
REAP_STOPPING_OWING = Write(
    says="The same; what is owed is noted in the same write (R14).",
    condition="""
        #state = :cancelling AND #leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil AND #leaseUntil < :leaseOver
    """,
    update=_CANCEL_OWING,
    moves=(Event.REAP, State.CANCELLED),
)

_PUT_OFF = """
    SET #state = :retry, #reason = :reason, #attempt = #attempt - :one, #retryAfters = #retryAfters + :asked,
        #retryAt = :retryAt
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #waitKey, #waitAt
"""
_PUT_OFF_WAITING = """
    SET #state = :retry, #reason = :reason, #attempt = #attempt - :one, #retryAfters = #retryAfters + :asked,
        #retryAt = :retryAt, #waitKey = :waitKey, #waitAt = :retryAt
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt
"""
_PUT_OFF_SAYING = """
    SET #state = :retry, #reason = :reason, #error = :error, #attempt = #attempt - :one,
        #retryAfters = #retryAfters + :asked, #retryAt = :retryAt
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #waitKey, #waitAt
"""
_PUT_OFF_WAITING_SAYING = """
    SET #state = :retry, #reason = :reason, #error = :error, #attempt = #attempt - :one,
        #retryAfters = #retryAfters + :asked, #retryAt = :retryAt, #waitKey = :waitKey, #waitAt = :retryAt
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt
"""
GIVE_BACK = Write(
    says="The platform did not run it: the holder gives the claim back and the attempt is not counted.",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update=_PUT_OFF,
    moves=(Event.GIVE_BACK, State.RETRY),
)
GIVE_BACK_WAITING = Write(
    says="The same after longer than the queue can hold a message.",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update=_PUT_OFF_WAITING,
    moves=(Event.GIVE_BACK, State.RETRY),
)
RETRY_LATER = Write(
    says="User code asks to be tried later: no attempt is counted, so the asking is bounded.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #retryAfters < :retryAftersMax",
    update=_PUT_OFF,
    moves=(Event.RETRY_AFTER, State.RETRY),
)
RETRY_LATER_WAITING = Write(
    says="The same after longer than the queue can hold a message.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #retryAfters < :retryAftersMax",
    update=_PUT_OFF_WAITING,
    moves=(Event.RETRY_AFTER, State.RETRY),
)
RETRY_LATER_SAYING = Write(
    says="User code asks to be tried later, and says why.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #retryAfters < :retryAftersMax",
    update=_PUT_OFF_SAYING,
    moves=(Event.RETRY_AFTER, State.RETRY),
)
RETRY_LATER_WAITING_SAYING = Write(
    says="The same after longer than the queue can hold a message.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #retryAfters < :retryAftersMax",
    update=_PUT_OFF_WAITING_SAYING,
    moves=(Event.RETRY_AFTER, State.RETRY),
)

CANCEL = Write(
    says="What has not started and is as it was seen ends at once; nothing owed.",
    condition="""
        #state IN (:waiting, :queued, :retry) AND #state = :seenState AND #leaseEpoch = :seenEpoch
    """,
    update="""
        SET #state = :cancelled, #reason = :reason, #finishedAt = :now, #ttl = :ttl
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #owed
    """,
    moves=(Event.CANCEL, State.CANCELLED),
)
CANCEL_OWING = Write(
    says="The same; what is owed is noted in the same write (R14).",
    condition="""
        #state IN (:waiting, :queued, :retry) AND #state = :seenState AND #leaseEpoch = :seenEpoch
    """,
    update="""
        SET #state = :cancelled, #reason = :reason, #finishedAt = :now, #owed = :owed
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #ttl
    """,
    moves=(Event.CANCEL, State.CANCELLED),
)
CANCEL_RUNNING = Write(
    says="A run is asked to stop: from now on its heartbeat and result are refused; nothing starts in its place yet.",
    condition="#state = :running AND #leaseEpoch = :seenEpoch",
    update="SET #state = :cancelling, #reason = :reason",
    moves=(Event.CANCEL, State.CANCELLING),
)

RELEASE = Write(
    says="A retry whose time has come leaves the waiting index, as it was seen; a journal page names it already.",
    condition="#state = :retry AND #leaseEpoch = :seenEpoch AND #waitKey = :seenWaitKey",
    update="REMOVE #waitKey, #waitAt",
    moves=(Event.RELEASE, State.RETRY),
)

EXPIRE = Write(
    says="What has not started by its run deadline, and is as it was seen, is dead; nothing owed.",
    condition="""
        #state IN (:waiting, :queued, :retry) AND #state = :seenState AND #leaseEpoch = :seenEpoch
    """,
    update="""
        SET #state = :dead, #reason = :reason, #finishedAt = :now, #failedAt = :now, #ttl = :ttl
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #owed
    """,
    moves=(Event.EXPIRE, State.DEAD),
)
EXPIRE_OWING = Write(
    says="The same; what is owed is noted in the same write (R14).",
    condition="""
        #state IN (:waiting, :queued, :retry) AND #state = :seenState AND #leaseEpoch = :seenEpoch
    """,
    update="""
        SET #state = :dead, #reason = :reason, #finishedAt = :now, #failedAt = :now, #owed = :owed
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #ttl
    """,
    moves=(Event.EXPIRE, State.DEAD),
)

REDRIVE = Write(
    says="What is dead as it was seen, and owes nothing, is opened again: later generation, later epoch, new attempts.",
    condition="#state = :dead AND #leaseEpoch = :seenEpoch AND attribute_not_exists(#owed)",
    update="""
        SET #state = :queued, #generation = #generation + :one, #leaseEpoch = #leaseEpoch + :one,
            #maxAttempts = #attempt + :attempts, #attemptsBefore = #attempt, #retryAfters = :none,
            #runDeadlineAt = :runDeadlineAt, #redrivenAt = :now
        REMOVE #reason, #startedAt, #finishedAt, #failedAt, #discarded, #ttl
    """,
    moves=(Event.REDRIVE, State.QUEUED),
)

DISCARD = Write(
    says="What is dead as it was seen, is on the list and owes nothing, leaves the list; the epoch fences who saw it.",
    condition="""
        #state = :dead AND #leaseEpoch = :seenEpoch AND attribute_exists(#failedAt) AND attribute_not_exists(#owed)
    """,
    update="SET #discarded = :discarded, #leaseEpoch = #leaseEpoch + :one REMOVE #failedAt",
    moves=(Event.DISCARD, State.DEAD),
    batched=False,
)
