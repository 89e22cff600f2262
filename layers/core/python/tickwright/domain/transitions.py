"""How an execution may move: every transition, once, as a table.

The stores' conditions, the diagram and list in docs/semantics.md and the set of terminal states are derived from it.
Must not know how a condition is written in any store. Promise: SEM-STATE-1.
"""

from enum import Enum
from typing import NamedTuple


class State(Enum):
    """Where an execution is in its life (the API calls it `status`)."""

    WAITING = "WAITING"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    RETRY = "RETRY"
    CANCELLING = "CANCELLING"
    SUCCEEDED = "SUCCEEDED"
    DEAD = "DEAD"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


class Event(Enum):
    """What can be asked of an execution."""

    PROMOTE = "promote"
    RELEASE = "release"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    SUCCEED = "succeed"
    FAIL = "fail"
    STOPPED = "stopped"
    GIVE_BACK = "give_back"
    RETRY_AFTER = "retry_after"
    CANCEL = "cancel"
    EXPIRE = "expire"
    REAP = "reap"
    REDRIVE = "redrive"
    DISCARD = "discard"


class Guard(Enum):
    """When a row applies, judged on the stored execution and the writer's clock."""

    ALWAYS = "always"
    ATTEMPTS_LEFT = "attempt < maxAttempts"
    RETRY_DUE = "retryAt <= now, off the waiting index, and attempt < maxAttempts"
    RETRYING = "the failure may be retried and attempt < maxAttempts"
    GIVING_UP = "the failure is fatal or attempts are used up"
    IN_TIME = "now < deadlineAt"
    ASKED_SELDOM = "retryAfters < limit"
    NOTHING_OWED = "nothing is owed"
    ON_THE_LIST = "on the attention list, and nothing is owed"


class Fence(Enum):
    """Who may cause a transition."""

    ANYONE = "anyone"
    SEEN = "whoever names the state and epoch it has seen"
    HOLDER = "the holder of the current epoch"
    EXPIRED = "anyone, once the lease is over by twice the clock error"


class Effect(Enum):
    """What a transition's write does besides moving the state."""

    RAISE_EPOCH = "leaseEpoch + 1"
    COUNT_ATTEMPT = "attempt + 1"
    UNCOUNT_ATTEMPT = "attempt - 1"
    GRANT_LEASE = "set leaseOwner, claimToken, leaseUntil, deadlineAt"
    EXTEND_LEASE = "move leaseUntil out; note progress and checkpoint, if any are told"
    END_LEASE = "remove leaseOwner, leaseUntil, deadlineAt"
    BACK_OFF = "set retryAt"
    LEAVE_WAITING_INDEX = "remove waitKey, waitAt"
    END = "set finishedAt, and owed or ttl"
    FORGET_NOTED = "remove what was noted"
    LETTER = "set failedAt: the attention index"
    REOPEN = "generation + 1, leaseEpoch + 1, attempts and deadline anew; remove finishedAt, failedAt, discarded, ttl"
    SET_ASIDE = "leaseEpoch + 1; set discarded; remove failedAt: off the attention index"


class Row(NamedTuple):
    """One transition."""

    source: State
    event: Event
    only_if: Guard
    target: State
    fence: Fence
    effects: tuple[Effect, ...]


_S, _E, _G, _F, _X = State, Event, Guard, Fence, Effect
_LEASE = (_X.RAISE_EPOCH, _X.COUNT_ATTEMPT, _X.GRANT_LEASE, _X.LEAVE_WAITING_INDEX)
_BACK = (_X.END_LEASE, _X.BACK_OFF)
_FREE = (_X.END_LEASE, _X.UNCOUNT_ATTEMPT, _X.BACK_OFF)
_OVER = (_X.END_LEASE, _X.END)
_DONE = (*_OVER, _X.FORGET_NOTED)
_DIED = (_X.END_LEASE, _X.END, _X.LETTER)
_LEFT = (_X.LEAVE_WAITING_INDEX, _X.END)
_LATE = (_X.LEAVE_WAITING_INDEX, _X.END, _X.LETTER)

# from      where the execution is
# event     what somebody asks for
# only if   a guard over the stored execution and the clock
# to        where it goes
# fence     who may cause it: ANYONE; whoever names the state and epoch it has SEEN; the HOLDER of the current epoch;
#           or, once the lease has EXPIRED by twice the clock error, whoever names the epoch it has seen
# effects   what the same write does besides
# fmt: off
TRANSITIONS: tuple[Row, ...] = (
    #   from           event           only if           to             fence       effects
    Row(_S.WAITING,    _E.PROMOTE,     _G.ALWAYS,        _S.QUEUED,     _F.SEEN,    ()),
    Row(_S.WAITING,    _E.RELEASE,     _G.ALWAYS,        _S.QUEUED,     _F.SEEN,    (_X.LEAVE_WAITING_INDEX,)),
    Row(_S.WAITING,    _E.CANCEL,      _G.ALWAYS,        _S.CANCELLED,  _F.SEEN,    _LEFT),
    Row(_S.WAITING,    _E.EXPIRE,      _G.ALWAYS,        _S.DEAD,       _F.SEEN,    _LATE),

    Row(_S.QUEUED,     _E.CLAIM,       _G.ATTEMPTS_LEFT, _S.RUNNING,    _F.ANYONE,  _LEASE),
    Row(_S.QUEUED,     _E.CANCEL,      _G.ALWAYS,        _S.CANCELLED,  _F.SEEN,    _LEFT),
    Row(_S.QUEUED,     _E.EXPIRE,      _G.ALWAYS,        _S.DEAD,       _F.SEEN,    _LATE),

    Row(_S.RETRY,      _E.CLAIM,       _G.RETRY_DUE,     _S.RUNNING,    _F.ANYONE,  _LEASE),
    Row(_S.RETRY,      _E.RELEASE,     _G.ALWAYS,        _S.RETRY,      _F.SEEN,    (_X.LEAVE_WAITING_INDEX,)),
    Row(_S.RETRY,      _E.CANCEL,      _G.ALWAYS,        _S.CANCELLED,  _F.SEEN,    _LEFT),
    Row(_S.RETRY,      _E.EXPIRE,      _G.ALWAYS,        _S.DEAD,       _F.SEEN,    _LATE),

    Row(_S.RUNNING,    _E.CLAIM,       _G.ATTEMPTS_LEFT, _S.RUNNING,    _F.EXPIRED, _LEASE),
    Row(_S.RUNNING,    _E.HEARTBEAT,   _G.IN_TIME,       _S.RUNNING,    _F.HOLDER,  (_X.EXTEND_LEASE,)),
    Row(_S.RUNNING,    _E.SUCCEED,     _G.ALWAYS,        _S.SUCCEEDED,  _F.HOLDER,  _DONE),
    Row(_S.RUNNING,    _E.FAIL,        _G.RETRYING,      _S.RETRY,      _F.HOLDER,  _BACK),
    Row(_S.RUNNING,    _E.FAIL,        _G.GIVING_UP,     _S.DEAD,       _F.HOLDER,  _DIED),
    Row(_S.RUNNING,    _E.GIVE_BACK,   _G.ALWAYS,        _S.RETRY,      _F.HOLDER,  _FREE),
    Row(_S.RUNNING,    _E.RETRY_AFTER, _G.ASKED_SELDOM,  _S.RETRY,      _F.HOLDER,  _FREE),
    Row(_S.RUNNING,    _E.CANCEL,      _G.ALWAYS,        _S.CANCELLING, _F.SEEN,    ()),
    Row(_S.RUNNING,    _E.REAP,        _G.RETRYING,      _S.RETRY,      _F.EXPIRED, _BACK),
    Row(_S.RUNNING,    _E.REAP,        _G.GIVING_UP,     _S.DEAD,       _F.EXPIRED, _DIED),

    Row(_S.CANCELLING, _E.STOPPED,     _G.ALWAYS,        _S.CANCELLED,  _F.HOLDER,  _OVER),
    Row(_S.CANCELLING, _E.REAP,        _G.ALWAYS,        _S.CANCELLED,  _F.EXPIRED, _OVER),

    Row(_S.DEAD,       _E.REDRIVE,     _G.NOTHING_OWED,  _S.QUEUED,     _F.SEEN,    (_X.REOPEN,)),
    Row(_S.DEAD,       _E.DISCARD,     _G.ON_THE_LIST,   _S.DEAD,       _F.SEEN,    (_X.SET_ASIDE,)),
)
# fmt: on

# An end is what only a redrive leaves, which opens a new generation; a discard leaves it where it is.
TERMINAL = frozenset(State) - {row.source for row in TRANSITIONS if row.event not in {Event.REDRIVE, Event.DISCARD}}
UNFINISHED = frozenset(State) - TERMINAL

# The negative space. A pair without a row is a duplicate signal, which is normal and changes nothing (IGNORED), or
# somebody is
# wrong and is told so (REFUSED). Each pair stands in exactly one of the table and these two sets.
IGNORED: frozenset[tuple[State, Event]] = frozenset(
    {
        # A hint delivered twice or late: the work is done, in other hands, or not to be started yet.
        *((state, Event.CLAIM) for state in TERMINAL | {State.WAITING, State.CANCELLING}),
        # A watcher that read before somebody else's write: what it wanted to repair is repaired.
        *((state, Event.REAP) for state in State if state not in {State.RUNNING, State.CANCELLING}),
        *((state, Event.EXPIRE) for state in TERMINAL | {State.RUNNING, State.CANCELLING}),
        *((state, Event.RELEASE) for state in TERMINAL | {State.QUEUED, State.RUNNING, State.CANCELLING}),
        *((state, Event.PROMOTE) for state in State if state is not State.WAITING),
        # Cancelling twice is one cancellation.
        (State.CANCELLED, Event.CANCEL),
        (State.CANCELLING, Event.CANCEL),
    }
)
REFUSED: frozenset[tuple[State, Event]] = frozenset(
    {
        # Only a run has a holder: a result, a heartbeat or a give-back for anything else comes from a zombie.
        *(
            (state, event)
            for event in (Event.HEARTBEAT, Event.SUCCEED, Event.FAIL, Event.GIVE_BACK, Event.RETRY_AFTER)
            for state in State
            if state is not State.RUNNING
        ),
        *((state, Event.STOPPED) for state in State if state is not State.CANCELLING),
        # Only what has died is given another chance, or given up.
        *((state, event) for event in (Event.REDRIVE, Event.DISCARD) for state in State if state is not State.DEAD),
        # Terminal is final: what has ended otherwise cannot be cancelled.
        *((state, Event.CANCEL) for state in (State.SUCCEEDED, State.DEAD, State.SKIPPED)),
    }
)


_BY_MOVE = {(r.event, r.source, r.target): r for r in TRANSITIONS}
assert len(_BY_MOVE) == len(TRANSITIONS), "two rows for one move"


def rows(event: Event, source: State | None = None) -> tuple[Row, ...]:
    """The transitions that an event may cause, from one state or from all."""
    return tuple(r for r in TRANSITIONS if r.event is event and source in {None, r.source})


def row(event: Event, source: State, target: State) -> Row | None:
    """The one transition of an event between two states, or None if there is none."""
    return _BY_MOVE.get((event, source, target))
