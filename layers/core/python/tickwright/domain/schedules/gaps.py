"""Which local times a schedule left out because the clock jumped over them and its policy is to skip.

They are nominal ticks all the same, and the ledger owes each a row (`dst_gap`). Must not know the ledger. Promise:
SEM-SCHED-9.
"""

from dataclasses import replace

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.nominal import next_nominal
from tickwright.domain.schedules.values import Cron, Schedule, Tick
from tickwright.domain.schedules.zones import Gap, changes


def gap_skips(schedule: Schedule, after: Instant, until: Instant) -> tuple[Tick, ...]:
    """For each gap in (after, until] the tick that `shift` would have made and `skip` left out, earliest first."""
    if not isinstance(schedule.kind, Cron) or schedule.dst_gap is not Gap.SKIP:
        return ()
    shifting = replace(schedule, dst_gap=Gap.SHIFT)
    jumps = [change for change in changes(schedule.timezone, after // 1000, until // 1000) if change.forward > 0]
    found = [next_nominal(shifting, Instant(change.at * 1000 - 1)) for change in jumps]
    return tuple(
        tick
        for tick, change in zip(found, jumps, strict=True)
        if tick is not None and tick.at == change.at * 1000 and tick.nominal_local is not None
    )
