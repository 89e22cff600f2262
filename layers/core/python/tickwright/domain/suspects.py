"""Whether a run may be what ends its workers: then its next attempt is called where it takes nobody along.

Nobody sees which of its runs has ended a process; whoever was lost with it twice and never said a word of its own is
suspected. It changes where an attempt is called, and no count: how often it is tried stays bounded by the attempts
alone. Must not know where that is. Promise: SEM-SDK-17.
"""

from typing import Final

from tickwright.domain.executions import Execution, Reason

# One loss is a machine that was taken away; two in a row are seldom chance.
LOST_IN_A_ROW: Final = 2
# How an attempt ends that was alone already: a process of its own was gone.
DIED_ALONE: Final = frozenset({"ChildKilled", "ChildExited"})


def is_suspect(claimed: Execution) -> bool:
    """Of an execution as it was claimed, so its attempt counts the one that is to begin.

    Only what was written last is known of the attempts before. After a failure of its own, losses that were taken over
    by a claim do not show, and the run is called as usual; one loss that a reap wrote may be taken for two. A redriven
    run that died of losses is suspected at once.
    """
    if claimed.error is None:
        return claimed.attempt - claimed.attempts_before > LOST_IN_A_ROW
    if claimed.error.error_class in DIED_ALONE:
        return True
    return claimed.error.error_class == Reason.LEASE_EXPIRED.value and claimed.attempt > LOST_IN_A_ROW
