"""Scenario link-heals: two Regions lose each other and both go on; after the failover the link between them heals.

What the lost Region has written meanwhile comes over, where the tables are still replicas of its own: an old epoch over
a new one. Where the link was cut before the base was raised, nothing comes. The control is the first of the two: its
base is raised as well, and protects nobody. Promise: SEM-EPOCH-1.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from tests.scenarios.chart import Chart, Point
from tests.scenarios.fleet_crash import Sink
from tests.scenarios.installation import IndexedStore, Installation, played
from tests.scenarios.outcome import Outcome
from tests.scenarios.region_failover import LAG_MS, Region
from tests.scenarios.replica import Replica, WholeOfState
from tests.sim.draws import Stream
from tests.support.builders import TENANT
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.outcomes import Refusal
from tickwright.domain.transitions import State
from tickwright.services.relist import relist
from tickwright.services.report import report_success
from tickwright.services.submit import Submitted

NAME = "link-heals"
_LOST_MS = 120_000  # after the start: neither Region hears of the other any more
_GOES_ON_MS = 60_000  # then the second Region is told to go on
_HEALS_MS = 135_000  # after that, in the middle of the runs of a minute
_FIRST_ENDS_MS = 30_000  # then somebody reaches the first Region, and stops it
_AFTER_MS = 300_000
_STEP_MS = 5_000
_TICKS = (_LOST_MS + _GOES_ON_MS + _HEALS_MS + _FIRST_ENDS_MS) // 60_000 + 1  # until after the first Region has ended


@dataclass(slots=True)
class Played:
    """What came of it, once."""

    first: Region
    second: Region
    jobs: list[JobId]
    came: int = 0  # items, when the link healed
    fell: int = 0  # of them, epochs of runs that fell
    believed: int = 0  # results of who holds an epoch that another was given after them
    curve: list[Point] = field(default_factory=list)


@dataclass(slots=True)
class Scene:
    """Both Regions at once. `is_cut`: the second stands on tables that belong to no global table."""

    seed: int
    size: int
    is_cut: bool
    sink: Sink = field(default_factory=lambda: Sink(has_fence=True, has_key=False))

    async def play(self) -> Played:
        """Part, go on twice, meet again."""
        first = Region(Installation(self.seed), self.sink)
        replica = Replica(first.house.state, Stream.of(self.seed, "replica"), LAG_MS)
        first.house.schedule(2)
        first.work()
        jobs = await self._submit(first.house)
        await first.house.clock.sleep_until(Instant(first.house.start_ms + _LOST_MS))
        era = Era(base=FIRST_ERA.highest)
        second = Region(Installation(self.seed + 1, start_ms=first.house.start_ms, era=era), self.sink)
        replica.cut_off(second.house.state)
        lost_ms = first.house.now_ms()
        told = Played(first, second, jobs)
        await first.house.clock.sleep_ms(_GOES_ON_MS)
        await self._begin(second, Instant(lost_ms))
        await self._watch(told, _HEALS_MS)
        if not self.is_cut:
            before = _epochs(second)
            told.came = replica.heal(second.house.state)
            told.fell = sum(before[ref] > epoch for ref, epoch in _epochs(second).items() if ref in before)
        await self._watch(told, _FIRST_ENDS_MS)
        await first.house.close()
        await self._watch(told, _AFTER_MS)
        await second.house.close()
        return told

    async def _submit(self, house: Installation) -> list[JobId]:
        kit, jobs = house.life("a0"), list[JobId]()
        ends = to_rfc3339(Instant(house.start_ms + _TICKS * 60_000))
        minutely = {"schedule": {"every": "PT1M", "endAt": ends}, "catchup": {"mode": "all", "windowSec": 3_600}}
        for number in range(self.size):
            made = await house.submit(kit, f"minutely-{number}", {**minutely, "overlap": {"mode": "allow"}})
            assert isinstance(made, Submitted)
            jobs.append(made.head.job_id)
        return jobs

    async def _begin(self, second: Region, point: Instant) -> None:
        house = second.house
        kit = house.life("op")
        assert isinstance(kit.store, IndexedStore)
        whole = WholeOfState(kit.store.state, kit.store.process, kit.store.due)
        await relist(replace(kit, store=whole), whole, point)
        house.schedule(2)
        second.work()

    async def _watch(self, told: Played, for_ms: int) -> None:
        """And hear, each time that an epoch is given out again, from whoever was given it first."""
        house, heard = told.second.house, len(told.second.again)
        kit = house.life("api")
        for _ in range(for_ms // _STEP_MS):
            await house.clock.sleep_ms(_STEP_MS)
            since_s = (house.now_ms() - house.start_ms - _LOST_MS) / 1_000
            told.curve.append((since_s, sum(not row.is_terminal for row in house.rows())))
            for ref, epoch in told.second.again[heard:]:
                answer = await report_success(kit, TENANT, ref.id, epoch=epoch, result=None)
                told.believed += not isinstance(answer, Refusal)
            heard = len(told.second.again)


def _epochs(region: Region) -> dict[object, int]:
    return {row.ref: row.lease_epoch for row in region.house.rows()}


def play(*, size: int = 40, seed: int = 1) -> Outcome:
    """`size` minutely jobs, and two Regions that lose each other after two minutes."""
    cut = played(Scene(seed, size, is_cut=True).play)
    control = played(Scene(seed, size, is_cut=False).play)
    rows = cut.second.house.rows()
    run = Counter(row.job_id for row in rows)
    both = {ref for ref, _ in cut.first.claims} & {ref for ref, _ in cut.second.claims}
    expected = {
        "both Regions have run ticks of the same minutes": bool(both),
        "no epoch is given out twice": not cut.second.again,
        "every tick has one row": {run[job] for job in cut.jobs} == {_TICKS},
        "everything has ended well": {row.state for row in rows} == {State.SUCCEEDED},
        "with a link that was not cut, old epochs come over new ones": control.fell > 0,
        "and are given out twice": bool(control.second.again),
        "and the older of two holders is believed": control.believed > 0,
        "no bug was seen": not cut.second.house.telemetry.broken,
    }
    figures = {
        "ticks": len(rows),
        "runInBothRegions": len(both),
        "control": {
            "itemsThatCameOver": control.came,
            "epochsThatFell": control.fell,
            "epochsGivenOutTwice": len(control.second.again),
            "olderHoldersBelieved": control.believed,
        },
    }
    chart = Chart(
        title="A link that heals after a failover",
        across="seconds after the Regions lost each other",
        up="unfinished in the second Region",
        lines={"link cut": cut.curve, "link not cut": control.curve},
    )
    return Outcome(name=NAME, figures=figures, expected=expected, charts=[chart])
