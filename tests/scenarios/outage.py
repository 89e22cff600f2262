"""Scenario outage: the store answers nobody for half a second, half a minute and ten minutes.

Clients submit one-offs, asking once each, and look at jobs and executions; jobs of every ten seconds tick with each
catch-up policy. Twice: on an installation with copies and an intake, and on one without (the control). The expected
outcome: whatever was acknowledged is the job that was told and ran once; every tick is accounted for, by its policy; in
the control clients get no answer instead. Promises: SEM-STALE-1, SEM-INTAKE-1 to SEM-INTAKE-3, SEM-CATCHUP-1.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.scenarios.chart import Chart, Point
from tests.scenarios.failing_over import FailingOver
from tests.scenarios.installation import Installation, played
from tests.scenarios.outage_clients import TARGET, Reader, Seen, Shore, SimIntake, Submitter, Told, ask, land_for_ever
from tests.scenarios.outcome import Outcome, spread_ms
from tests.scenarios.spike import Quick
from tests.sim.plan import Outage
from tests.sim.process import Process
from tests.support.clocks import NOON
from tickwright.adapters.aws.patience import Patience
from tickwright.adapters.cache.memory import MemoryStatusCache
from tickwright.api.call import Api
from tickwright.api.submissions import insists_ms
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State

NAME = "outage"
LENGTHS_MS = {"half a second": 500, "half a minute": 30_000, "ten minutes": 600_000}
_MODES = ("all", "latest", "none")
_JOBS_A_MODE = 4
_EVERY_MS = 10_000
_GONE_FROM_MS = 60_000
_APPLIED_MS = 150  # the store's last breath: what reaches it is applied, and nobody is told
_AFTER_MS = 180_000
_SETTLING_MS_MAX = 1_800_000
_LOOK_MS = 5_000
_LATENCY_MS = 8
_BURST, _APART_MS = 24, 25  # requests at the worst moment, so that each kind of fate is met
_SECRET = b"a secret of the scenario"
_WAIT_MS_MAX = 28_000  # API Gateway says 504 a second later
_STALE_WAIT_MS_MAX = 2_500
_OK = (200, 201, 202)


@dataclass(slots=True)
class Scene:
    """One installation and one outage; `size` submissions every ten seconds."""

    gone_ms: int
    size: int
    seed: int
    is_ours: bool
    house: Installation = field(init=False)
    shore: Shore = field(init=False)
    standing: dict[str, list[JobId]] = field(default_factory=dict)
    submitter: Submitter = field(init=False)
    reader: Reader = field(init=False)
    settled_s: int = 0

    def __post_init__(self) -> None:
        """Set the stage."""
        applied_ms = min(_APPLIED_MS, self.gone_ms)
        outages = (Outage(_GONE_FROM_MS + applied_ms, self.gone_ms - applied_ms),)
        # A reply may be lost only where the store still applies; after that nothing is applied and nothing answered.
        process_of = partial(FailingOver, patience=Patience(), mute_from_ms=_GONE_FROM_MS, mute_ms=self.gone_ms)
        self.house = Installation(self.seed, latency_ms=_LATENCY_MS, outages=outages, process_of=process_of)
        self.shore = Shore(self.house)

    @property
    def ends_ms(self) -> int:
        """When clients have asked for the last time."""
        return _GONE_FROM_MS + self.gone_ms + _AFTER_MS

    async def play(self) -> None:
        """Work, lose the store, work on, and let everything end."""
        house = self.house
        apis = tuple(self._api(name) for name in ("a0", "a1"))
        house.schedule(2)
        for name in ("w0", "w1"):
            house.work(name, lambda _process: Quick(house))
        self._land("i0")
        await self._submit_standing(apis[0])
        paths = [f"/v1/jobs/{jobs[0]}" for jobs in self.standing.values()]
        self.submitter = Submitter(house, apis[0])
        self.reader = Reader(house, apis, paths)
        house.keep(self._at_pace(1_000, self.reader.look))
        house.keep(self._at_pace(10_000 // self.size, self.submitter.ask))
        house.keep(self._burst())
        await house.clock.sleep_until(Instant(NOON + 30_000))
        paths += [f"/v1/executions/{row.ref.id}" for row in house.rows()[:3]]
        await self._kill_a_landing()
        await house.clock.sleep_until(Instant(NOON + self.ends_ms))
        await self._settle()
        await house.close()

    def _api(self, name: str) -> Api:
        """One process of the API, with a cache of its own."""
        kit = self.house.life(name)
        if not self.is_ours:
            return Api(kit=kit, page_secret=_SECRET, behind_gateway=True)
        return Api(
            kit=kit,
            page_secret=_SECRET,
            behind_gateway=True,
            copies=MemoryStatusCache(kit.clock),
            intake=SimIntake(self.shore, self.house.processes[name]),
            insists_ms=insists_ms(has_intake=True),
        )

    def _land(self, name: str) -> None:
        """The function that lands; when it dies, another takes its place."""
        if not self.is_ours or self.house.stop.is_set():
            return
        kit = self.house.life(name, lambda _process, _away_ms: self._land(name))
        process: Process = self.house.processes[name]
        api = Api(kit=kit, behind_gateway=True)
        self.house.keep(land_for_ever(self.house, api, SimIntake(self.shore, process)))

    async def _burst(self) -> None:
        await self.house.clock.sleep_until(Instant(NOON + _GONE_FROM_MS - 4 * _APART_MS))
        for number in range(_BURST):
            self.house.keep(self.submitter.ask(100_000 + number))
            await self.house.clock.sleep_ms(_APART_MS)

    async def _kill_a_landing(self) -> None:
        """In the first second after the outage, in the middle of whatever it does."""
        await self.house.clock.sleep_until(Instant(NOON + _GONE_FROM_MS + self.gone_ms + 20))
        while self.is_ours and self.shore.messages and not any(m.visible_ms for m in self.shore.messages.values()):
            await self.house.clock.sleep_ms(7)
        if self.is_ours:
            self.house.processes["i0"].die(1_000)

    async def _submit_standing(self, api: Api) -> None:
        for mode in _MODES:
            self.standing[mode] = []
            for number in range(_JOBS_A_MODE):
                body = {
                    "name": f"{mode}-{number}",
                    "schedule": {"every": f"PT{_EVERY_MS // 1_000}S"},
                    "catchup": {"mode": mode},
                    "overlap": {"mode": "allow"},
                    "target": TARGET,
                }
                got = await ask(api, "POST", "/v1/jobs", body, idempotency_key=f"{mode}-{number}")
                assert got.status == 201, got.body
                self.standing[mode].append(JobId(json.loads(got.body)["jobId"]))

    async def _at_pace(self, ms: int, act: Callable[[int], Coroutine[None, None, None]]) -> None:
        number = 0
        while self.house.now_ms() < NOON + self.ends_ms:
            self.house.keep(act(number))
            number += 1
            await self.house.clock.sleep_ms(ms)

    async def _settle(self) -> None:
        """Until nothing waits in the intake, and no one-off is left."""
        while self.house.now_ms() < NOON + _SETTLING_MS_MAX and (self.shore.messages or not self.all_ran()):
            await self.house.clock.sleep_ms(_LOOK_MS)
        self.settled_s = (self.house.now_ms() - NOON - self.ends_ms) // 1_000

    # --- what came of it ---------------------------------------------------------------------------------------------
    def acknowledged(self) -> list[Told]:
        """What clients were told would be, or is."""
        return [one for one in self.submitter.told if one.status in _OK]

    def all_ran(self) -> bool:
        """Whether each acknowledged job is there under its id, and ran once."""
        succeeded = Counter(row.job_id for row in self.house.rows() if row.state is State.SUCCEEDED)
        known = [one.job_id for one in self.acknowledged()]
        return all(succeeded[job_id] == 1 for job_id in known if job_id is not None)

    def ran_and_unknown(self) -> int:
        """Jobs of clients that were told nothing of them."""
        known = {one.job_id for one in self.acknowledged()}
        heads = self.house.state.heads.values()
        return sum(1 for head in heads if head.listed_as.startswith("once-") and head.job_id not in known)

    def looks(self) -> list[Seen]:
        """What readers saw while the store was gone."""
        low, high = NOON + _GONE_FROM_MS + _APPLIED_MS, NOON + _GONE_FROM_MS + self.gone_ms
        return [one for one in self.reader.seen if low <= one.asked_ms and one.asked_ms + one.waited_ms < high]

    def ticks(self, mode: str) -> dict[str, int]:
        """Of all jobs of a mode: ticks, those that ran, those in a row of passed-over ones, and gaps or doubles."""
        rows = [row for row in self.house.rows() if row.job_id in self.standing[mode]]
        each = [_accounted(sorted(mine, key=lambda row: row.scheduled_at)) for mine in _by_job(rows)]
        return {name: sum(one[name] for one in each) for name in ("ticks", "ran", "passedOver", "wrong")}

    def lag_points(self, mode: str) -> list[Point]:
        """Each start: when it was due, and how late it was."""
        mine = set(self.standing[mode])
        found = [one for one in self.house.starts if one.job_id in mine]
        return sorted(((s.scheduled_ms - NOON) / 1_000, (s.started_ms - s.scheduled_ms) / 1_000) for s in found)

    def told(self) -> dict[str, object]:
        """Its figures."""
        looks, asked = self.looks(), self.submitter.told
        return {
            "asked": len(asked),
            "answered": dict(sorted(Counter(str(one.status) for one in asked).items())),
            "acknowledgedAfter": spread_ms([one.waited_ms for one in self.acknowledged()]),
            "unknownJobs": self.ran_and_unknown(),
            "looksDuring": len(looks),
            "ofThemCopies": sum(one.is_stale for one in looks),
            "ofThemUnanswered": sum(one.status not in _OK for one in looks),
            "oldestCopyS": max((one.age_ms for one in looks), default=0) // 1_000,
            "lookedAfter": spread_ms([one.waited_ms for one in looks if one.status in _OK]),
            "ticks": {mode: self.ticks(mode) for mode in _MODES},
            "settledS": self.settled_s,
        }


def _by_job(rows: Sequence[Execution]) -> list[list[Execution]]:
    found: dict[JobId, list[Execution]] = {}
    for row in rows:
        found.setdefault(row.job_id, []).append(row)
    return list(found.values())


def _accounted(rows: Sequence[Execution]) -> dict[str, int]:
    """Walk along the ticks: each is one run that succeeded, or within one row of those passed over."""
    ticks = ran = passed_over = wrong = 0
    expected = rows[0].scheduled_at
    for row in rows:
        first = row.scheduled_at if row.passed is None else row.passed.first
        count = 1 if row.passed is None else row.passed.count
        wrong += first != expected
        wrong += row.passed is None and row.state not in {State.SUCCEEDED, State.QUEUED, State.RUNNING}
        ticks += count
        ran += row.passed is None
        passed_over += 0 if row.passed is None else count
        expected = Instant(first + count * _EVERY_MS)
    return {"ticks": ticks, "ran": ran, "passedOver": passed_over, "wrong": wrong}


def play(*, size: int = 20, seed: int = 1, lengths: Collection[str] = tuple(LENGTHS_MS)) -> Outcome:
    """`size` submissions every ten seconds, beside four jobs of each policy."""
    figures: dict[str, object] = {}
    expected: dict[str, bool] = {}
    charts: list[Chart] = []
    for name in lengths:
        gone_ms = LENGTHS_MS[name]
        ours, control = (Scene(gone_ms, size, seed, is_ours) for is_ours in (True, False))
        for scene in (ours, control):
            played(scene.play)
        figures[name] = {"ours": ours.told(), "control": control.told()}
        expected |= {f"{name}: {claim}": held for claim, held in _expected(ours, control).items()}
        charts += _charts(name, ours, control)
    return Outcome(name=NAME, figures=figures, expected=expected, charts=charts)


def _expected(ours: Scene, control: Scene) -> dict[str, bool]:
    lasting = ours.gone_ms > _WAIT_MS_MAX
    refused = sum(one.status == 503 for one in control.submitter.told)
    blind = sum(one.status == 503 for one in control.looks())
    return {
        "whatever was acknowledged is the job that was told, and ran once": ours.all_ran() and control.all_ran(),
        "every client that asked once was acknowledged": len(ours.acknowledged()) == len(ours.submitter.told),
        "nobody waited longer than API Gateway does": max(one.waited_ms for one in ours.submitter.told) <= _WAIT_MS_MAX,
        "nothing is left in the intake, and nothing was refused": not ours.shore.messages and not ours.shore.refused,
        "each status was shown, in two and a half seconds": all(
            one.status == 200 and one.waited_ms <= _STALE_WAIT_MS_MAX for one in ours.looks()
        ),
        "every tick is accounted for once, by its policy": _ticks_are_right(ours),
        "control: clients are refused and see nothing, if it lasts": (refused > 0 and blind > 0) == lasting,
        "a landing died in the middle, and another went on": ours.house.member("i0").endswith(".2"),
        "no bug was seen": not ours.house.telemetry.broken and not control.house.telemetry.broken,
    }


def _ticks_are_right(scene: Scene) -> bool:
    """None late enough to be missed in a short outage; in a long one all are caught up, one, or none."""
    told = {mode: scene.ticks(mode) for mode in _MODES}
    missed = max(0, (scene.gone_ms - 60_000) // _EVERY_MS - 1) * _JOBS_A_MODE
    whole = all(one["wrong"] == 0 and one["ticks"] == one["ran"] + one["passedOver"] for one in told.values())
    if not missed:
        return whole and all(one["passedOver"] == 0 for one in told.values())
    return whole and told["all"]["passedOver"] == 0 and min(told[m]["passedOver"] for m in ("latest", "none")) >= missed


def _charts(name: str, ours: Scene, control: Scene) -> list[Chart]:
    waits = {
        label: sorted(((one.asked_ms - NOON) / 1_000, one.waited_ms / 1_000) for one in scene.acknowledged())
        for label, scene in (("copies and intake", ours), ("control", control))
    }
    lags = {f"catch-up {mode}": ours.lag_points(mode) for mode in _MODES}
    return [
        Chart(title=f"{name}: acknowledgements, and the wait for them", across="seconds", up="s", lines=dict(waits)),
        Chart(title=f"{name}: how late ticks start", across="seconds (when they were due)", up="s", lines=dict(lags)),
    ]
