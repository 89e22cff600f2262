"""Scenario region-failover: a Region is lost, and another goes on from a copy that lags, with its epochs raised.

The copy has each item as it was up to three seconds before, one without what was written beside it. The first Region's
workers live on, cut off from their store: their code goes on to its effects, and their results reach the second Region.
The control does the same with its epochs where they were. Promises: SEM-EPOCH-1, SEM-RECOVERY-1.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace

from tests.scenarios.chart import Chart, Point
from tests.scenarios.fleet_crash import Sink
from tests.scenarios.installation import IndexedStore, Installation, played
from tests.scenarios.outcome import Outcome
from tests.scenarios.replica import Replica, WholeOfState, epochs_of
from tests.sim.draws import Stream
from tests.sim.plan import Outage
from tests.sim.process import Process
from tests.support.builders import TENANT
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.outcomes import Refusal
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation, Runner
from tickwright.services.relist import Relisted, relist
from tickwright.services.report import report_success
from tickwright.services.submit import Submitted

NAME = "region-failover"
LAG_MS = 3_000
_LOST_MS = 180_000  # after the start
_NOTICED_MS = 300_000  # until the second Region is told to go on
_ZOMBIES_MS = 20_000  # then the first Region's results arrive
_END_MS = 900_000
_AFTER_MS = 300_000  # so long the minutely jobs go on in the second Region
_STEP_MS = 10_000
_SUBMITS_MS = 400
_TICKS = (_LOST_MS + _NOTICED_MS + _AFTER_MS) // 60_000  # of a minutely job, from beginning to end
_WORKERS = ("w0", "w1", "w2", "w3")
_FOREVER_MS = 1 << 40


@dataclass(slots=True)
class Region:
    """An installation, and when the code of each of its runs had its effect and ended."""

    house: Installation
    sink: Sink
    effects: Counter[ExecutionRef] = field(default_factory=Counter)
    claims: dict[tuple[ExecutionRef, int], int] = field(default_factory=dict)  # when each was given out
    again: list[tuple[ExecutionRef, int]] = field(default_factory=list)  # claims that were given out before
    code: set["asyncio.Task[UserResult]"] = field(default_factory=set)

    def work(self) -> None:
        """A fleet."""
        for name in _WORKERS:
            self.house.work(name, self._runner)

    def _runner(self, _process: Process) -> Runner:
        return _Payer(self)


@dataclass(slots=True)
class _Payer:
    """User code in a thread: it has its effect in its middle and hears no cancel, whatever becomes of its Region."""

    region: Region

    async def run(self, invocation: Invocation) -> UserResult:
        """One attempt."""
        row, house = invocation.execution, self.region.house
        if (row.ref, invocation.epoch) in self.region.claims:
            self.region.again.append((row.ref, invocation.epoch))
        self.region.claims[row.ref, invocation.epoch] = house.now_ms()
        code = asyncio.create_task(self._code(row, invocation.epoch))
        self.region.code.add(code)
        return await asyncio.shield(code)

    async def _code(self, row: Execution, epoch: int) -> UserResult:
        house = self.region.house
        lasts_ms = Stream.of(house.seed, f"{row.ref.id} {epoch}").between(10_000, 40_000)
        await house.clock.sleep_ms(lasts_ms // 2)
        self.region.sink.take(row.ref.id, epoch)
        self.region.effects[row.ref] += 1
        await house.clock.sleep_ms(lasts_ms - lasts_ms // 2)
        return Success()


@dataclass(slots=True)
class Played:
    """What came of it, once."""

    first: Region
    second: Region
    accepted: dict[JobId, int]  # when each submit was acknowledged
    lost_ms: int
    copied: dict[ExecutionRef, int]  # epochs as the copy has them
    relisted: Relisted
    zombies_believed: int = 0  # of results whose claim the copy does not know
    zombies_refused: int = 0
    holders_believed: int = 0
    curve: list[Point] = field(default_factory=list)

    @property
    def lost(self) -> set[JobId]:
        """Jobs that were acknowledged and are not there."""
        return self.accepted.keys() - self.second.house.state.heads.keys()

    @property
    def twice(self) -> dict[ExecutionRef, int]:
        """Runs that had succeeded in the first Region and were started in the second, and when they had ended."""
        ended = {row.ref: row.finished_at or 0 for row in self.first.house.rows() if row.state is State.SUCCEEDED}
        return {ref: ended[ref] for ref, _ in self.second.claims if ref in ended}


@dataclass(slots=True)
class Scene:
    """Both Regions, one after the other. `era` is that of the second."""

    seed: int
    size: int
    era: Era
    sink: Sink = field(default_factory=lambda: Sink(has_fence=True, has_key=False))

    async def play(self) -> Played:
        """Work, lose the Region, go on elsewhere, and hear from its zombies."""
        gone = (Outage(at_ms=_LOST_MS, ms=_FOREVER_MS),)
        first = Region(Installation(self.seed, outages=gone), self.sink)
        replica = Replica(first.house.state, Stream.of(self.seed, "replica"), LAG_MS)
        first.house.schedule(2)
        first.work()
        accepted = await self._submit(first.house)
        lost_ms = first.house.now_ms()
        second = Region(Installation(self.seed + 1, start_ms=first.house.start_ms, era=self.era), self.sink)
        replica.cut_off(second.house.state)
        copied = epochs_of(second.house.state.executions)
        await first.house.clock.sleep_ms(_NOTICED_MS)
        found = await self._begin(second, Instant(lost_ms))
        played = Played(first, second, accepted, lost_ms, copied, found)
        await first.house.clock.sleep_ms(_ZOMBIES_MS)
        await self._hear_from_zombies(played)
        await self._watch(played)
        return played

    async def _submit(self, house: Installation) -> dict[JobId, int]:
        """Minutely jobs that make up for what they miss, then one-offs until the end."""
        kit, accepted = house.life("a0"), dict[JobId, int]()
        ends = to_rfc3339(Instant(house.start_ms + _LOST_MS + _NOTICED_MS + _AFTER_MS))
        minutely = {"schedule": {"every": "PT1M", "endAt": ends}, "catchup": {"mode": "all", "windowSec": 3_600}}
        for number in range(self.size):
            made = await house.submit(kit, f"minutely-{number}", {**minutely, "overlap": {"mode": "allow"}})
            assert isinstance(made, Submitted)
            accepted[made.head.job_id] = house.now_ms()
        number = 0
        while house.now_ms() < house.start_ms + _LOST_MS - _SUBMITS_MS:
            number += 1
            once = {"schedule": {"runAt": to_rfc3339(Instant(house.now_ms() + 15_000))}}
            made = await house.submit(kit, f"once-{number}", once)
            assert isinstance(made, Submitted)
            accepted[made.head.job_id] = house.now_ms()
            await house.clock.sleep_ms(_SUBMITS_MS)
        await house.clock.sleep_until(Instant(house.start_ms + _LOST_MS))
        return accepted

    async def _begin(self, second: Region, point: Instant) -> Relisted:
        house = second.house
        kit = house.life("op")
        assert isinstance(kit.store, IndexedStore)
        whole = WholeOfState(kit.store.state, kit.store.process, kit.store.due)
        found = await relist(replace(kit, store=whole), whole, point)
        house.schedule(2)
        second.work()
        return found

    async def _hear_from_zombies(self, played: Played) -> None:
        """Each result of a claim of the first Region's last minute comes by whatever way it has."""
        kit = played.second.house.life("api")
        for (ref, epoch), at_ms in sorted(played.first.claims.items()):
            if at_ms < played.lost_ms - 60_000:
                continue
            told = await report_success(kit, TENANT, ref.id, epoch=epoch, result=None)
            if isinstance(told, Refusal):
                played.zombies_refused += 1
            elif played.copied.get(ref) == epoch:
                played.holders_believed += 1
            else:
                played.zombies_believed += 1

    async def _watch(self, played: Played) -> None:
        house = played.second.house
        for _ in range(_END_MS // _STEP_MS):
            after_s = (house.now_ms() - played.lost_ms) / 1_000
            played.curve.append((after_s, sum(not row.is_terminal for row in house.rows())))
            await house.clock.sleep_ms(_STEP_MS)
        await house.close()


def play(*, size: int = 40, seed: int = 1) -> Outcome:
    """`size` minutely jobs, a one-off each 0.4 s, and a Region that is lost after three minutes."""
    raised = played(Scene(seed, size, Era(base=FIRST_ERA.highest)).play)
    control = played(Scene(seed, size, FIRST_ERA).play)
    rows = raised.second.house.rows()
    late = raised.lost_ms - LAG_MS
    whole = [row for row in rows if row.error is None or row.error.error_class != "DefinitionMissing"]
    run = Counter(row.job_id for row in whole)
    minutely = list(raised.accepted)[:size]
    kept = raised.accepted.keys() - raised.lost - set(raised.relisted.incomplete)
    expected = {
        "what is lost was acknowledged within the lag": all(raised.accepted[one] > late for one in raised.lost),
        "the lag is real: something is lost, or arrived in part": bool(raised.lost or raised.relisted.incomplete),
        "every other job has run": kept <= run.keys(),
        "every tick of the minutely jobs has one row": {run[job] for job in minutely} == {_TICKS},
        "everything has ended": all(row.is_terminal for row in rows),
        "and well, but for jobs that arrived in part": {row.state for row in whole} == {State.SUCCEEDED},
        "what ran to its end twice had ended within the lag": all(at > late for at in raised.twice.values()),
        "every result of a claim that the copy does not know is refused": raised.zombies_believed == 0,
        "there were such results": raised.zombies_refused > 0,
        "no epoch is given out twice": not raised.second.again,
        "without a raised base zombies are believed": control.zombies_believed > 0,
        "no bug was seen": not raised.second.house.telemetry.broken,
    }
    figures = {
        "lagMs": LAG_MS,
        "acknowledged": len(raised.accepted),
        "lost": len(raised.lost),
        "arrivedInPart": len(raised.relisted.incomplete),
        "unfinishedInTheCopy": raised.relisted.unfinished,
        "decidedWithoutExecution": raised.relisted.decided,
        "executionsAtTheEnd": len(rows),
        "ranTwiceToTheEnd": len(raised.twice),
        "zombies": {"refused": raised.zombies_refused, "believed": raised.zombies_believed},
        "holdersOfTheCopyBelieved": raised.holders_believed,
        "control": {"zombiesBelieved": control.zombies_believed},
    }
    chart = Chart(
        title="Region failover",
        across="seconds after the Region was lost",
        up="unfinished",
        lines={"in the second Region": raised.curve},
    )
    return Outcome(name=NAME, figures=figures, expected=expected, charts=[chart])
