"""A state machine of a tenant's operations on the services, beside a model of which ticks must have run.

The model knows times and schedules only: since when a job fired which period. A tick well inside such a time must have
run once; one that no schedule near it names must not. Between the two, within a look-ahead of an operation, either is
right. Must not read a head to know what to expect.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from tests.support.builders import TENANT
from tests.support.clocks import VirtualLoop
from tests.support.kits import World
from tests.support.ledger import check_starts
from tickwright.domain.executions import Cause, Execution
from tickwright.domain.ids import ExecutionId, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job
from tickwright.services.jobs import JobView
from tickwright.services.run_now import run_now
from tickwright.services.submit import RequestKey, Submitted, submit

_MINUTE_MS = 60_000
_NEAR_MS = 8_000  # the look-ahead, and a little for the steps around it
_JOBS_MAX = 4
PERIODS = st.sampled_from([1, 2, 3, 5])
WHILES = st.sampled_from([3_000, 57_500, 60_000, 150_000, 300_000, 420_000])


@dataclass(slots=True)
class Span:
    """A time in which a job fires every so many minutes."""

    minutes: int
    from_ms: int
    until_ms: int | None = None

    def names(self, tick_ms: int) -> bool:
        """Whether its schedule has this tick."""
        return tick_ms % (self.minutes * _MINUTE_MS) == 0


@dataclass(slots=True)
class Model:
    """What is known of a job without the product."""

    job_id: JobId
    key: RequestKey
    body: dict[str, Any]
    minutes: int
    status: JobStatus = JobStatus.ACTIVE
    version: int = 1
    spans: list[Span] = field(default_factory=list)
    asked_for: set[ExecutionId] = field(default_factory=set)

    def open_span(self, now_ms: int) -> None:
        """It fires from now on."""
        self.spans.append(Span(self.minutes, now_ms))

    def close_span(self, now_ms: int) -> None:
        """It fires no more."""
        if self.spans and self.spans[-1].until_ms is None:
            self.spans[-1].until_ms = now_ms

    def must(self, now_ms: int) -> set[int]:
        """The ticks that must have run by now."""
        return {
            tick
            for span in self.spans
            for tick in _ticks(span, span.from_ms + _NEAR_MS, (span.until_ms or now_ms) - _NEAR_MS)
        }

    def may(self, now_ms: int) -> set[int]:
        """The ticks that may have run by now."""
        return {
            tick
            for span in self.spans
            for tick in _ticks(span, span.from_ms - _NEAR_MS, (span.until_ms or now_ms) + _NEAR_MS)
        }


def _ticks(span: Span, from_ms: int, until_ms: int) -> range:
    step = span.minutes * _MINUTE_MS
    return range(-(-from_ms // step) * step, until_ms + 1, step)


class JobsMachine(RuleBasedStateMachine):
    """Submit, repeat, pause, resume, edit, cancel, run now, and time passing, with and without anybody at work."""

    jobs: Bundle[Model] = Bundle("jobs")
    seen: ClassVar[Counter[str]] = Counter()  # what happened in all sequences together

    def __init__(self) -> None:
        """An installation on a virtual loop of its own."""
        super().__init__()
        self.loop = VirtualLoop()
        self.world = World()
        self.models: list[Model] = []

    def teardown(self) -> None:
        """Judge once more when everything is quiet, and let go."""
        try:
            self._run(self.world.drain_until(Instant(self._now() + 20_000)))
            self._judge()
            self._run(check_starts(self.world))
            self.seen["ticks"] += sum(len(job.must(self._now())) for job in self.models)
            self.seen.update(job.status.value for job in self.models)
            self.seen["edits"] += sum(job.version > 1 for job in self.models)
            self.seen["asked for"] += sum(len(job.asked_for) for job in self.models)
        finally:
            self._run(self.world.close())
            self.loop.close()

    def _run(self, work: Any) -> Any:  # noqa: ANN401 - any coroutine and its answer
        return self.loop.run_until_complete(work)

    def _now(self) -> int:
        async def now() -> int:
            return self.world.clock.now()

        found: int = self._run(now())
        return found

    # --- what a tenant does --------------------------------------------------------------------------------------
    @initialize(target=jobs, minutes=PERIODS)
    def first(self, minutes: int) -> Model:
        """There is always a job."""
        return self._submitted(minutes)

    @rule(target=jobs, minutes=PERIODS)
    def submit(self, minutes: int) -> Any:  # noqa: ANN401 - a model, or none
        """Another job, up to a few."""
        return multiple() if len(self.models) >= _JOBS_MAX else self._submitted(minutes)

    def _submitted(self, minutes: int) -> Model:
        body = {"schedule": {"every": f"PT{minutes}M"}, "overlap": {"mode": "allow"}, "catchup": {"mode": "all"}}
        key = self.world.key()
        answer = self._run(self._submit(key, body))
        assert isinstance(answer, Submitted)
        assert not answer.replayed
        model = Model(answer.head.job_id, key, body, minutes)
        model.open_span(self._now())
        self.models.append(model)
        return model

    async def _submit(self, key: RequestKey, body: dict[str, Any]) -> Submitted | Refusal:
        return await submit(self.world.kit, TENANT, self.world.spec(**body), key)

    @rule(job=jobs)
    def repeat(self, job: Model) -> None:
        """The same request again is the same job."""
        answer = self._run(self._submit(job.key, job.body))
        assert isinstance(answer, Submitted)
        assert answer.replayed
        assert answer.head.job_id == job.job_id

    @rule(job=jobs)
    def pause(self, job: Model) -> None:
        """No tick later than this."""
        answer = self._run(pause_job(self.world.kit, TENANT, job.job_id, None))
        self._changed(job, answer, JobStatus.PAUSED)

    @rule(job=jobs)
    def resume(self, job: Model) -> None:
        """From the first tick after this."""
        answer = self._run(resume_job(self.world.kit, TENANT, job.job_id, None))
        self._changed(job, answer, JobStatus.ACTIVE)

    @rule(job=consumes(jobs))
    def cancel(self, job: Model) -> None:
        """The end of it."""
        answer = self._run(cancel_job(self.world.kit, TENANT, job.job_id, None))
        self._changed(job, answer, JobStatus.CANCELLED)

    def _changed(self, job: Model, answer: JobView | Refusal, becomes: JobStatus) -> None:
        assert isinstance(answer, JobView), answer
        if job.status is not becomes:
            job.version += 1
            (job.open_span if becomes is JobStatus.ACTIVE else job.close_span)(self._now())
        job.status = becomes
        assert (answer.head.status, answer.head.version) == (becomes, job.version)

    @rule(job=jobs, minutes=PERIODS, old=st.booleans())
    def edit(self, job: Model, minutes: int, *, old: bool) -> None:
        """Another period, on the version that is; on an older one it is refused."""
        body = job.body | {"schedule": {"every": f"PT{minutes}M"}, "description": f"edit {job.version}"}
        answer = self._run(self._edit(job, body, job.version - old))
        if old:
            assert isinstance(answer, Refusal)
            assert answer.code is Code.VERSION_CONFLICT
            return
        assert isinstance(answer, JobView), answer
        job.version, job.minutes = job.version + 1, minutes
        if job.status is JobStatus.ACTIVE:
            job.close_span(self._now())
            job.open_span(self._now())
        assert answer.head.version == job.version

    async def _edit(self, job: Model, body: dict[str, Any], if_match: int) -> JobView | Refusal:
        return await edit_job(self.world.kit, TENANT, job.job_id, self.world.spec(**body), if_match)

    @rule(job=jobs)
    def run_it_now(self, job: Model) -> None:
        """Once, beside its ticks, paused or not."""
        answer = self._run(run_now(self.world.kit, TENANT, job.job_id, None))
        assert isinstance(answer, Execution), answer
        job.asked_for.add(answer.ref.id)

    # --- time ----------------------------------------------------------------------------------------------------
    @rule(ms=WHILES)
    def work_goes_on(self, ms: int) -> None:
        """Time passes, and somebody is at work."""
        self._run(self.world.drain_until(Instant(self._now() + ms)))

    @rule(ms=WHILES)
    def nobody_works(self, ms: int) -> None:
        """Time passes, then fresh processes come."""
        self._run(self.world.clock.sleep_ms(ms))
        self._run(self.world.drain_until(Instant(self._now() + 30_000)))

    # --- the comparison ------------------------------------------------------------------------------------------
    @invariant()
    def _judge(self) -> None:
        now_ms = self._now()
        rows = self._run(self.world.executions())
        for job in self.models:
            mine = [row for row in rows if row.job_id == job.job_id]
            ran = [row.scheduled_at for row in mine if _has_run(row, Cause.SCHEDULE)]
            assert len(ran) == len(set(ran)), "a tick ran twice"
            assert job.must(now_ms) <= set(ran), f"did not run: {sorted(job.must(now_ms) - set(ran))}"
            assert set(ran) <= job.may(now_ms), f"ran without a schedule: {sorted(set(ran) - job.may(now_ms))}"
            manual = {row.ref.id for row in mine if _has_run(row, Cause.MANUAL)}
            assert manual <= job.asked_for


def _has_run(row: Execution, cause: Cause) -> bool:
    return row.cause is cause and row.state is State.SUCCEEDED
