"""Taking executions off the waiting index when their time has come: a journal page first, so that they stay on a list.

Dying after the page: both lists name them, and whoever reads either goes on. Promise: SEM-JOURNAL-4.
"""

from collections.abc import Sequence

from tickwright.domain import limits
from tickwright.domain.changes.moves import Release
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Entry, Page
from tickwright.domain.transitions import State
from tickwright.ports.store import Applied
from tickwright.services.hints import send_hints
from tickwright.services.kit import Kit


async def release_due(kit: Kit, bucket: int) -> int:
    """Release the retries of a bucket that are due within the look-ahead; how many."""
    until = Instant(kit.clock.now() + kit.durations.lookahead_ms)
    refs = await kit.store.waiting_eventually(str(bucket), until=until, limit=limits.WAITING_PAGE)
    if not refs:
        return 0
    found = await kit.store.executions(refs)
    # The index may still show a wait that is over: of a later one it is not the time, and its page would be dropped.
    waiting = [e for e in found.values() if e.state is State.RETRY and e.wait_at is not None and e.wait_at <= until]
    return await _release(kit, bucket, waiting) if waiting else 0


async def _release(kit: Kit, bucket: int, waiting: Sequence[Execution]) -> int:
    await kit.store.put_page(
        Page(
            bucket=bucket,
            check_at=Instant(kit.clock.now() + kit.durations.first_check_ms),
            writer=kit.entropy.token(),
            entries=tuple(Entry(job_id=e.job_id, key=e.key, version=e.job_version) for e in waiting),
        )
    )
    changes = [
        Release(ref=ExecutionRef(e.job_id, e.key), seen_epoch=e.lease_epoch, seen_wait_key=e.wait_key)
        for e in waiting
        if e.wait_key is not None
    ]
    outcomes = await kit.store.write_each(changes)
    released = [outcome.new for outcome in outcomes if isinstance(outcome, Applied)]
    await send_hints(kit, released)
    return len(released)
