"""Scenario db-failover: the store's leader is replaced while clients submit, and nobody is answered for half a second.

Three kinds of client, twice: on an installation that repeats unanswered calls to its store as ours does, and on one
that does not (the control). One client repeats a request with its key, one gives up, one asks anew with a fresh key.
The expected outcome: what was acknowledged runs once; only the controls lose requests, do them twice, or start late.
Promises: SEM-IDEM-1, SEM-STORE-5.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.scenarios.chart import Chart, Point
from tests.scenarios.failing_over import APPLIED_MS, GONE_FROM_MS, GONE_MS, IMPATIENT, FailingOver
from tests.scenarios.installation import Installation, played
from tests.scenarios.outcome import Outcome, at_percent, spread_ms
from tests.scenarios.spike import Quick
from tests.sim.draws import Stream
from tests.sim.plan import Outage
from tests.support.clocks import NOON
from tickwright.adapters.aws.patience import Patience
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.submit import Submitted

NAME = "db-failover"
_SUBMITTING_MS = 16_000
_SETTLING_MS_MAX = 900_000  # the journal looks at what was left in the air after two minutes, 50 pages at a time
_LOOK_MS = 5_000
_LATENCY_MS = 8
_FIRST_PAUSE_MS = 50
_PAUSE_MS_MAX = 1_000
_TRIES = 12
_TOGETHER, _APART_MS = 20, 3
_REPEATS, _GIVES_UP, _ASKS_ANEW = "repeats", "gives-up", "asks-anew"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A request that was answered, when it was made, and how long the client waited."""

    job_id: JobId
    asked_ms: int
    waited_ms: int


@dataclass(slots=True)
class Client:
    """One kind of client: what it was told, and what it was not."""

    house: Installation
    kit: Kit
    kind: str
    acknowledged: list[Acknowledged] = field(default_factory=list)
    failed: int = 0
    repeats: int = 0
    replayed: int = 0

    async def ask(self, number: int) -> None:
        """One request, to its end."""
        asked_ms = self.house.now_ms()
        draw = Stream.of(self.house.seed, f"{self.kind}/{number}")
        pause_ms = _FIRST_PAUSE_MS
        body: dict[str, object] = {"schedule": {"runAt": to_rfc3339(Instant(asked_ms + _due_ms(number)))}}
        for tried in range(1 if self.kind == _GIVES_UP else _TRIES):
            key = f"{self.kind}-{number}" + (f"-{tried}" if self.kind == _ASKS_ANEW else "")
            try:
                answer = await self.house.submit(self.kit, key, {"name": key, **body})
            except Unavailable:
                self.repeats += 1
                await self.house.clock.sleep_ms(round(pause_ms * (0.5 + draw.fraction())))
                pause_ms = min(2 * pause_ms, _PAUSE_MS_MAX)
                continue
            assert isinstance(answer, Submitted), answer
            self.replayed += answer.replayed
            self.acknowledged.append(Acknowledged(answer.head.job_id, asked_ms, self.house.now_ms() - asked_ms))
            return
        self.failed += 1

    def told(self) -> dict[str, int]:
        """What it came to, and what is in the store that it does not know of."""
        mine = [head for head in self.house.state.heads.values() if head.listed_as.startswith(f"{self.kind}-")]
        return {
            "acknowledged": len(self.acknowledged),
            "failed": self.failed,
            "repeats": self.repeats,
            "replayed": self.replayed,
            "jobs": len(mine),
            "unknownJobs": len(mine) - len({one.job_id for one in self.acknowledged}),
        }


def _asked_ms(size: int) -> list[int]:
    """When requests come: evenly, and some more together at the worst moment, so that each kind of fate is met."""
    evenly = range(0, _SUBMITTING_MS, 1_000 // size)
    return sorted([*evenly, *range(GONE_FROM_MS - _TOGETHER * _APART_MS, GONE_FROM_MS, _APART_MS)])


def _due_ms(number: int) -> int:
    """How soon a job is due: every fourth within the look-ahead, so that its request fires it as well."""
    return 2_000 if number % 4 == 0 else 8_000


@dataclass(slots=True)
class Scene:
    """One installation, and three clients of `size` requests a second each."""

    size: int
    seed: int
    patience: Patience
    house: Installation = field(init=False)
    clients: dict[str, Client] = field(default_factory=dict)
    settled_s: int = 0

    def __post_init__(self) -> None:
        """Set the stage: the old leader applies a little longer than it answers."""
        outages = (Outage(GONE_FROM_MS + APPLIED_MS, GONE_MS - APPLIED_MS),)
        process_of = partial(FailingOver, patience=self.patience)
        self.house = Installation(self.seed, latency_ms=_LATENCY_MS, outages=outages, process_of=process_of)

    async def play(self) -> None:
        """Submit all along, then let everything end."""
        house = self.house
        kinds = (_REPEATS, _GIVES_UP, _ASKS_ANEW)
        self.clients = {kind: Client(house, house.life(f"a-{kind}"), kind) for kind in kinds}
        house.schedule(2)
        for name in ("w0", "w1"):
            house.work(name, lambda _process: Quick(house))
        for number, at_ms in enumerate(_asked_ms(self.size)):
            await house.clock.sleep_until(Instant(NOON + at_ms))
            for client in self.clients.values():
                house.keep(client.ask(number))
        await house.clock.sleep_until(Instant(NOON + _SUBMITTING_MS + _LOOK_MS))
        while house.state.pages and house.now_ms() < NOON + _SETTLING_MS_MAX:
            await house.clock.sleep_ms(_LOOK_MS)
        self.settled_s = (house.now_ms() - NOON) // 1_000
        await house.close()

    # --- what came of it -----------------------------------------------------------------------------------------
    def ran_once(self) -> bool:
        """Whether all that any client was told of succeeded once, and nothing else ran twice."""
        succeeded = Counter(row.job_id for row in self.house.rows() if row.state is State.SUCCEEDED)
        known = [one.job_id for client in self.clients.values() for one in client.acknowledged]
        return all(succeeded[one] == 1 for one in known) and max(succeeded.values()) == 1

    def waits(self, span: str) -> list[float]:
        """How long the client that repeats waited for its acknowledgements."""
        low, high = _SPANS[span]
        return [float(one.waited_ms) for one in self.ours() if low <= one.asked_ms - NOON < high]

    def lags(self, span: str) -> list[float]:
        """How late runs started that were due then."""
        low, high = _SPANS[span]
        return [lag for at_s, lag in self.lag_points() if low <= at_s * 1_000 < high]

    def lag_points(self) -> list[Point]:
        """Each start: when it was due, and how late it was."""
        starts = self.house.starts
        return sorted(((s.scheduled_ms - NOON) / 1_000, float(s.started_ms - s.scheduled_ms)) for s in starts)

    def ours(self) -> Sequence[Acknowledged]:
        """What the client that repeats was told."""
        return self.clients[_REPEATS].acknowledged

    def told(self) -> dict[str, object]:
        """Its figures."""
        return {
            "settledS": self.settled_s,
            "clients": {kind: client.told() for kind, client in self.clients.items()},
            "acknowledgedAfter": {name: spread_ms(self.waits(name)) for name in _SPANS},
            "startLag": {name: spread_ms(self.lags(name)) for name in _SPANS},
        }


_SPANS = {
    "before": (0, GONE_FROM_MS - 100),
    "during": (GONE_FROM_MS - 100, GONE_FROM_MS + GONE_MS),
    "after": (GONE_FROM_MS + GONE_MS, _SETTLING_MS_MAX),
}


def play(*, size: int = 100, seed: int = 1) -> Outcome:
    """`size` requests a second of each client."""
    ours, control = Scene(size, seed, Patience()), Scene(size, seed, IMPATIENT)
    for scene in (ours, control):
        played(scene.play)
    figures = {
        "requests": len(_asked_ms(size)),
        "repeatsItsCalls": ours.told(),
        "doesNotRepeat": control.told(),
    }
    charts = [_wait_chart(ours, control), _lag_chart(ours, control)]
    return Outcome(name=NAME, figures=figures, expected=_expected(ours, control), charts=charts)


def _expected(ours: Scene, control: Scene) -> dict[str, bool]:
    asked = len(_asked_ms(ours.size))
    mine, repeats = ours.clients[_REPEATS].told(), control.clients[_REPEATS].told()
    quits, anew = control.clients[_GIVES_UP].told(), control.clients[_ASKS_ANEW].told()
    first_wait, last_wait = at_percent(ours.waits("before"), 99), at_percent(ours.waits("after"), 99)
    return {
        "whatever was acknowledged ran once, in both": ours.ran_once() and control.ran_once(),
        "every request is acknowledged, and is one job": mine["acknowledged"] == mine["jobs"] == asked,
        "nobody waits longer than two seconds beyond the outage": max(ours.waits("during")) <= GONE_MS + 2_000,
        "no run starts later than two seconds beyond the outage": max(y for _, y in ours.lag_points())
        <= GONE_MS + 2_000,
        "after it acknowledgements are as fast as before": last_wait <= 1.5 * first_wait,
        "control: with its key a request is one job, whatever the client saw": repeats["jobs"] == asked
        and repeats["replayed"] > 0,
        "control: whoever gives up fails at what was done": quits["failed"] > quits["unknownJobs"] > 0,
        "control: whoever asks anew does it twice": anew["unknownJobs"] > 0,
        "no bug was seen": not ours.house.telemetry.broken and not control.house.telemetry.broken,
    }


def _wait_chart(ours: Scene, control: Scene) -> Chart:
    lines = {
        name: sorted(((one.asked_ms - NOON) / 1_000, float(one.waited_ms)) for one in scene.ours())
        for name, scene in (("store calls repeated", ours), ("client repeats alone", control))
    }
    title = "What a client waits for its acknowledgement (the store is gone from 8 to 8.5 s)"
    return Chart(title=title, across="seconds", up="ms", lines=dict(lines))


def _lag_chart(ours: Scene, control: Scene) -> Chart:
    lines = {"store calls not repeated": control.lag_points(), "store calls repeated": ours.lag_points()}
    return Chart(title="How late runs start", across="seconds (when they were due)", up="ms", lines=dict(lines))
