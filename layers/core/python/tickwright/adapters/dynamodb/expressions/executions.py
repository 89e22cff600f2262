"""How the holder of an execution, or whoever takes over from it, writes it. The meaning: domain/changes/executions.py.

Must not know a table's name. A test compares the states and fences of every condition with domain/transitions.py.
"""

from tickwright.adapters.dynamodb.expressions.write import Kind, Write
from tickwright.domain.transitions import Event, State

INSERT = Write(
    says="One key a tick: whoever comes second finds the same execution.",
    condition="attribute_not_exists(#jobId)",
    kind=Kind.PUT,
)
CLAIM = Write(
    says="Give an execution to one worker: the epoch rises, which fences every earlier holder, and the attempt counts.",
    condition="""
        #attempt < #maxAttempts AND #leaseEpoch >= :base AND #leaseEpoch < :highest
        AND (#state = :queued
             OR (#state = :retry AND #retryAt <= :now AND attribute_not_exists(#waitKey))
             OR (#state = :running AND #leaseUntil < :leaseOver))
    """,
    update="""
        SET #state = :running,
            #leaseEpoch = #leaseEpoch + :one,
            #attempt = #attempt + :one,
            #leaseOwner = :worker,
            #claimToken = :token,
            #leaseUntil = :leaseUntil,
            #deadlineAt = :deadlineAt,
            #startedAt = if_not_exists(#startedAt, :now)
        REMOVE #reason, #retryAt, #waitKey, #waitAt
    """,
    moves=(Event.CLAIM, State.RUNNING),
    batched=False,
)
CLAIM_FROM_BELOW = Write(
    says="The same of what an installation before this one left: its epoch goes above all that one may have given out.",
    condition="""
        #attempt < #maxAttempts AND #leaseEpoch < :base
        AND (#state = :queued
             OR (#state = :retry AND #retryAt <= :now AND attribute_not_exists(#waitKey))
             OR (#state = :running AND #leaseUntil < :leaseOver))
    """,
    update="""
        SET #state = :running,
            #leaseEpoch = :raised,
            #attempt = #attempt + :one,
            #leaseOwner = :worker,
            #claimToken = :token,
            #leaseUntil = :leaseUntil,
            #deadlineAt = :deadlineAt,
            #startedAt = if_not_exists(#startedAt, :now)
        REMOVE #reason, #retryAt, #waitKey, #waitAt
    """,
    moves=(Event.CLAIM, State.RUNNING),
    batched=False,
)
HEARTBEAT = Write(
    says="Only the holder of the current epoch may move its own lease out, and never past the attempt's deadline.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now",
    update="SET #leaseUntil = :leaseUntil",
    moves=(Event.HEARTBEAT, State.RUNNING),
)
HEARTBEAT_OF_SEEN = Write(
    says="The same of the very lease that was seen: one that somebody else has moved meanwhile stays as it is.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil",
    update="SET #leaseUntil = :leaseUntil",
    moves=(Event.HEARTBEAT, State.RUNNING),
)
# What the holder notes goes over what was seen to be noted, member by member: what somebody else has noted meanwhile is
# not lost, and a member that a later version has added stays, and refuses nothing.
HEARTBEAT_NOTING_FIRST = Write(
    says="The same, and what the holder notes, where nothing was noted.",
    condition="""
        #state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil
        AND attribute_not_exists(#noted.#progress) AND attribute_not_exists(#noted.#checkpoint)
    """,
    update="SET #leaseUntil = :leaseUntil, #noted = :noted",
    moves=(Event.HEARTBEAT, State.RUNNING),
    batched=False,
)
HEARTBEAT_NOTING_PROGRESS = Write(
    says="The same over a progress.",
    condition="""
        #state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil
        AND #noted.#progress = :seenProgress AND attribute_not_exists(#noted.#checkpoint)
    """,
    update="SET #leaseUntil = :leaseUntil, #noted.#progress = :progress",
    moves=(Event.HEARTBEAT, State.RUNNING),
    batched=False,
)
HEARTBEAT_NOTING_CHECKPOINT_TOO = Write(
    says="The same over a progress, with the first checkpoint.",
    condition="""
        #state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil
        AND #noted.#progress = :seenProgress AND attribute_not_exists(#noted.#checkpoint)
    """,
    update="SET #leaseUntil = :leaseUntil, #noted.#progress = :progress, #noted.#checkpoint = :checkpoint",
    moves=(Event.HEARTBEAT, State.RUNNING),
    batched=False,
)
HEARTBEAT_NOTING_CHECKPOINT = Write(
    says="The same over a checkpoint.",
    condition="""
        #state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil
        AND attribute_not_exists(#noted.#progress) AND #noted.#checkpoint = :seenCheckpoint
    """,
    update="SET #leaseUntil = :leaseUntil, #noted.#checkpoint = :checkpoint",
    moves=(Event.HEARTBEAT, State.RUNNING),
    batched=False,
)
HEARTBEAT_NOTING_PROGRESS_TOO = Write(
    says="The same over a checkpoint, with the first progress.",
    condition="""
        #state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil
        AND attribute_not_exists(#noted.#progress) AND #noted.#checkpoint = :seenCheckpoint
    """,
    update="SET #leaseUntil = :leaseUntil, #noted.#progress = :progress, #noted.#checkpoint = :checkpoint",
    moves=(Event.HEARTBEAT, State.RUNNING),
    batched=False,
)
HEARTBEAT_NOTING_BOTH = Write(
    says="The same over both.",
    condition="""
        #state = :running AND #leaseEpoch = :epoch AND #deadlineAt > :now AND #leaseUntil = :seenLeaseUntil
        AND #noted.#progress = :seenProgress AND #noted.#checkpoint = :seenCheckpoint
    """,
    update="SET #leaseUntil = :leaseUntil, #noted.#progress = :progress, #noted.#checkpoint = :checkpoint",
    moves=(Event.HEARTBEAT, State.RUNNING),
    batched=False,
)

SUCCEED = Write(
    says="End a run well, nothing owed: the epoch refuses every zombie.",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update="""
        SET #state = :succeeded, #finishedAt = :now, #ttl = :ttl
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #owed, #error, #result, #noted
    """,
    moves=(Event.SUCCEED, State.SUCCEEDED),
)
SUCCEED_WITH_RESULT = Write(
    says="The same with a result.",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update="""
        SET #state = :succeeded, #finishedAt = :now, #ttl = :ttl, #result = :result
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #owed, #error, #noted
    """,
    moves=(Event.SUCCEED, State.SUCCEEDED),
)
SUCCEED_OWING = Write(
    says="End a run well; what is owed is noted in the same write, and the row is kept until it is done (R14).",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update="""
        SET #state = :succeeded, #finishedAt = :now, #owed = :owed
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #ttl, #error, #result, #noted
    """,
    moves=(Event.SUCCEED, State.SUCCEEDED),
)
SUCCEED_OWING_WITH_RESULT = Write(
    says="The same with a result.",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update="""
        SET #state = :succeeded, #finishedAt = :now, #owed = :owed, #result = :result
        REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #ttl, #error, #noted
    """,
    moves=(Event.SUCCEED, State.SUCCEEDED),
)

_BACK_OFF = """
    SET #state = :retry, #reason = :reason, #error = :error, #retryAt = :retryAt
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #waitKey, #waitAt
"""
_BACK_OFF_WAITING = """
    SET #state = :retry, #reason = :reason, #error = :error, #retryAt = :retryAt,
        #waitKey = :waitKey, #waitAt = :retryAt
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt
"""
_DIE = """
    SET #state = :dead, #reason = :reason, #error = :error, #finishedAt = :now, #failedAt = :now, #ttl = :ttl
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #owed
"""
_DIE_OWING = """
    SET #state = :dead, #reason = :reason, #error = :error, #finishedAt = :now, #failedAt = :now, #owed = :owed
    REMOVE #leaseOwner, #leaseUntil, #deadlineAt, #retryAt, #waitKey, #waitAt, #ttl
"""

FAIL_RETRY = Write(
    says="The holder's attempt failed and may be tried again soon: a delayed message, and the journal, remember it.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #attempt < #maxAttempts",
    update=_BACK_OFF,
    moves=(Event.FAIL, State.RETRY),
)
FAIL_RETRY_WAITING = Write(
    says="The same after longer than the queue can hold a message: it enters the waiting index.",
    condition="#state = :running AND #leaseEpoch = :epoch AND #attempt < #maxAttempts",
    update=_BACK_OFF_WAITING,
    moves=(Event.FAIL, State.RETRY),
)
FAIL_DEAD = Write(
    says="The holder's attempt failed for good, nothing owed: it enters the attention index.",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update=_DIE,
    moves=(Event.FAIL, State.DEAD),
)
FAIL_DEAD_OWING = Write(
    says="The holder's attempt failed for good; what is owed is noted in the same write (R14).",
    condition="#state = :running AND #leaseEpoch = :epoch",
    update=_DIE_OWING,
    moves=(Event.FAIL, State.DEAD),
)

REAP_RETRY = Write(
    says="Anyone may end an attempt whose lease is over by twice the clock error, but only the lease they looked at.",
    condition="""
        #state = :running AND #leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil AND #leaseUntil < :leaseOver
        AND #attempt < #maxAttempts
    """,
    update=_BACK_OFF,
    moves=(Event.REAP, State.RETRY),
)
REAP_RETRY_WAITING = Write(
    says="The same, with a retry that enters the waiting index.",
    condition="""
        #state = :running AND #leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil AND #leaseUntil < :leaseOver
        AND #attempt < #maxAttempts
    """,
    update=_BACK_OFF_WAITING,
    moves=(Event.REAP, State.RETRY),
)
REAP_DEAD = Write(
    says="The same where no attempt is left, nothing owed.",
    condition="""
        #state = :running AND #leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil AND #leaseUntil < :leaseOver
    """,
    update=_DIE,
    moves=(Event.REAP, State.DEAD),
)
REAP_DEAD_OWING = Write(
    says="The same where no attempt is left; what is owed is noted in the same write (R14).",
    condition="""
        #state = :running AND #leaseEpoch = :seenEpoch AND #leaseUntil = :seenLeaseUntil AND #leaseUntil < :leaseOver
    """,
    update=_DIE_OWING,
    moves=(Event.REAP, State.DEAD),
)

STRIKE_OWED = Write(
    says="All that was owed is done and the row may go in time; an execution opened again since is left alone (R13).",
    condition="#state IN (:succeeded, :dead, :cancelled, :skipped) AND #leaseEpoch = :seenEpoch",
    update="SET #ttl = :ttl REMOVE #owed",
)
