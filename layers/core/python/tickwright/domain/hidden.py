"""What the versions of a job hide: a pointer counts in every version up to the last one that names it.

A value lies in the versions before the one that first calls it secret, and may lie in those between that one and the
last. Each version is written with what those before it have named, so that the newest alone tells of all. Must not know
a store, nor what a pointer leads to (secrets.py). Promise: SEM-SECRET-2.
"""

from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition


def named_up_to(newest: Definition) -> tuple[tuple[str, int], ...]:
    """Each pointer that any version has named, and the last that did: what the next version is written with."""
    return tuple((dict(newest.named_before) | dict.fromkeys(newest.spec.secrets, newest.version)).items())


def ever_named(newest: Definition) -> tuple[str, ...]:
    """Each pointer that any version has named."""
    return tuple(pointer for pointer, _ in named_up_to(newest))


def hidden_in(version: int, newest: Definition) -> tuple[str, ...]:
    """The pointers that this version or a later one names."""
    return tuple(pointer for pointer, last in named_up_to(newest) if last >= version)


def known_since(claimed: Execution) -> Instant:
    """Up to when it is certain, of a claimed execution, that no later version had hidden more than its own.

    It was decided with the newest version, and no earlier than its insert or its time, whichever came first. One that
    is tried again may be of any age.
    """
    return min(claimed.created_at, claimed.scheduled_at) if claimed.lease_epoch == 1 else Instant(0)
