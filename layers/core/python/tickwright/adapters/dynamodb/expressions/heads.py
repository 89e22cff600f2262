"""How heads and definitions are written. The meaning: domain/changes/heads.py.

Must not know a table's name. Attributes that may be absent have a literal of their own for each case.
"""

from enum import Enum
from typing import Final

from tickwright.adapters.dynamodb.expressions.write import Kind, Write


class Pin(Enum):
    """What an advance demands of the job's occupant: nothing (policy `allow`), none, or the one seen to have ended."""

    NOTHING = "nothing"
    FREE = "free"
    SEEN = "seen"


class Fires(Enum):
    """What an advance makes of the tick: nothing (all are passed over), a verdict, or a run that occupies the job."""

    NOTHING = "nothing"
    TICK = "tick"
    OCCUPYING = "occupying"


PUT_HEAD = Write(
    says="A job is created once: an id that exists is somebody else's, or our own whose reply was lost.",
    condition="attribute_not_exists(#jobId)",
    kind=Kind.PUT,
)
PUT_DEFINITION = Write(
    says="A version is written once and never changes, so it may be cached for ever.",
    condition="attribute_not_exists(#jobId)",
    kind=Kind.PUT,
)

_NEVER_FIRED, _FIRED = False, True
# By whether a tick was decided before, and by the pin: the head is exactly as it was when the decision was taken.
ADVANCE_CONDITIONS: Final = {
    (_NEVER_FIRED, Pin.NOTHING): """
        #status = :active AND #nextRunAt = :tick AND #version = :version
        AND attribute_not_exists(#firedThrough)
    """,
    (_NEVER_FIRED, Pin.FREE): """
        #status = :active AND #nextRunAt = :tick AND #version = :version
        AND attribute_not_exists(#firedThrough)
        AND attribute_not_exists(#active)
    """,
    (_NEVER_FIRED, Pin.SEEN): """
        #status = :active AND #nextRunAt = :tick AND #version = :version
        AND attribute_not_exists(#firedThrough)
        AND #active = :seenActive
    """,
    (_FIRED, Pin.NOTHING): """
        #status = :active AND #nextRunAt = :tick AND #version = :version
        AND #firedThrough = :seenFiredThrough
    """,
    (_FIRED, Pin.FREE): """
        #status = :active AND #nextRunAt = :tick AND #version = :version
        AND #firedThrough = :seenFiredThrough
        AND attribute_not_exists(#active)
    """,
    (_FIRED, Pin.SEEN): """
        #status = :active AND #nextRunAt = :tick AND #version = :version
        AND #firedThrough = :seenFiredThrough
        AND #active = :seenActive
    """,
}

_GOES_ON, _ENDS = False, True
_PASSES_NONE, _PASSES_SOME = False, True
# By whether it was the last tick, by what the tick becomes, and by whether catch-up passed any over.
ADVANCE_UPDATES: Final = {
    (_GOES_ON, Fires.NOTHING, _PASSES_NONE): """
        SET #nextRunAt = :nextRunAt, #tzdata = :tzdata
    """,
    (_GOES_ON, Fires.NOTHING, _PASSES_SOME): """
        SET #nextRunAt = :nextRunAt, #tzdata = :tzdata, #passedThrough = :passedThrough
    """,
    (_GOES_ON, Fires.TICK, _PASSES_NONE): """
        SET #nextRunAt = :nextRunAt, #tzdata = :tzdata,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
    """,
    (_GOES_ON, Fires.TICK, _PASSES_SOME): """
        SET #nextRunAt = :nextRunAt, #tzdata = :tzdata, #passedThrough = :passedThrough,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
    """,
    (_GOES_ON, Fires.OCCUPYING, _PASSES_NONE): """
        SET #nextRunAt = :nextRunAt, #tzdata = :tzdata, #active = :occupant,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
    """,
    (_GOES_ON, Fires.OCCUPYING, _PASSES_SOME): """
        SET #nextRunAt = :nextRunAt, #tzdata = :tzdata, #active = :occupant, #passedThrough = :passedThrough,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
    """,
    (_ENDS, Fires.NOTHING, _PASSES_NONE): """
        SET #status = :ended
        REMOVE #nextRunAt, #bucket
    """,
    (_ENDS, Fires.NOTHING, _PASSES_SOME): """
        SET #status = :ended, #passedThrough = :passedThrough
        REMOVE #nextRunAt, #bucket
    """,
    (_ENDS, Fires.TICK, _PASSES_NONE): """
        SET #status = :ended,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
        REMOVE #nextRunAt, #bucket
    """,
    (_ENDS, Fires.TICK, _PASSES_SOME): """
        SET #status = :ended, #passedThrough = :passedThrough,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
        REMOVE #nextRunAt, #bucket
    """,
    (_ENDS, Fires.OCCUPYING, _PASSES_NONE): """
        SET #status = :ended, #active = :occupant,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
        REMOVE #nextRunAt, #bucket
    """,
    (_ENDS, Fires.OCCUPYING, _PASSES_SOME): """
        SET #status = :ended, #active = :occupant, #passedThrough = :passedThrough,
            #firedThrough = :fire, #firedVersion = :firedVersion, #firedAt = :firedAt, #firedAs = :firedAs,
            #runs = #runs + :ran
        REMOVE #nextRunAt, #bucket
    """,
}
ADVANCE: Final = {
    (seen, becomes): Write(
        says="One decision a tick: whoever read the head before or after this one names a tick that is not due.",
        condition=condition,
        update=update,
    )
    for seen, condition in ADVANCE_CONDITIONS.items()
    for becomes, update in ADVANCE_UPDATES.items()
}

_OFF_THE_INDEX, _DUE = False, True
_REWRITE_DUE = """
    SET #tenantId = :tenantId, #status = :status, #version = :version, #definitionVersion = :definitionVersion,
        #lane = :lane, #plan = :plan, #createdAt = :createdAt, #listedAs = :listedAs, #writeToken = :writeToken,
        #bucket = :bucket, #nextRunAt = :nextRunAt, #tzdata = :tzdata
"""
_REWRITE_OFF_THE_INDEX = """
    SET #tenantId = :tenantId, #status = :status, #version = :version, #definitionVersion = :definitionVersion,
        #lane = :lane, #plan = :plan, #createdAt = :createdAt, #listedAs = :listedAs, #writeToken = :writeToken
    REMOVE #bucket, #nextRunAt
"""
_REWRITES: Final = {_DUE: _REWRITE_DUE, _OFF_THE_INDEX: _REWRITE_OFF_THE_INDEX}
REWRITE: Final = {
    due: Write(
        says="An API write names the version it has read and raises it, so every older plan is refused (R2).",
        condition="#version = :seenVersion",
        update=update,
    )
    for due, update in _REWRITES.items()
}
REWRITE_NOT_DUE: Final = {
    due: Write(
        says="A write that computes nextRunAt must have seen the last decision; while a job is not due, there is none.",
        condition="#version = :seenVersion AND attribute_not_exists(#nextRunAt)",
        update=update,
    )
    for due, update in _REWRITES.items()
}
REWRITE_AS_DUE: Final = {
    due: Write(
        says="A write that computes nextRunAt must have seen the last decision: each moves it on.",
        condition="#version = :seenVersion AND #nextRunAt = :seenNextRunAt",
        update=update,
    )
    for due, update in _REWRITES.items()
}
OCCUPY_FREE = Write(
    says="A manual run occupies a job that nobody occupies, at the version that was read.",
    condition="#status IN (:active, :paused) AND #version = :version AND attribute_not_exists(#active)",
    update="SET #active = :occupant",
)
OCCUPY_AFTER = Write(
    says="A manual run occupies a job after the run that was seen to have ended, and only after that one.",
    condition="#status IN (:active, :paused) AND #version = :version AND #active = :seenActive",
    update="SET #active = :occupant",
)
STILL_OPEN = Write(
    says="A run that is asked for is inserted in one transaction with this: never after a cancel was acknowledged.",
    condition="#status IN (:active, :paused) AND #version = :version",
    kind=Kind.CHECK,
    batched=False,
)

# By whether a redrive was seen before, and whom the job was seen to be occupied by.
_REOPENABLE: Final = {
    (False, Pin.NOTHING): """
        #status IN (:active, :paused, :ended) AND #version = :version AND attribute_not_exists(#reopened)
    """,
    (True, Pin.NOTHING): """
        #status IN (:active, :paused, :ended) AND #version = :version AND #reopened = :seenReopened
    """,
    (False, Pin.FREE): """
        #status IN (:active, :paused, :ended) AND #version = :version AND attribute_not_exists(#reopened)
        AND attribute_not_exists(#active)
    """,
    (True, Pin.FREE): """
        #status IN (:active, :paused, :ended) AND #version = :version AND #reopened = :seenReopened
        AND attribute_not_exists(#active)
    """,
    (False, Pin.SEEN): """
        #status IN (:active, :paused, :ended) AND #version = :version AND attribute_not_exists(#reopened)
        AND #active = :seenActive
    """,
    (True, Pin.SEEN): """
        #status IN (:active, :paused, :ended) AND #version = :version AND #reopened = :seenReopened
        AND #active = :seenActive
    """,
}
_REOPENS: Final = {
    Pin.NOTHING: "SET #reopened = :reopened",
    Pin.FREE: "SET #reopened = :reopened, #active = :occupant",
    Pin.SEEN: "SET #reopened = :reopened, #active = :occupant",
}
REOPEN: Final = {
    (before, pin): Write(
        says="An execution of a job that is not cancelled is redriven by the overlap rule; a cancel looks back.",
        condition=condition,
        update=_REOPENS[pin],
    )
    for (before, pin), condition in _REOPENABLE.items()
}
