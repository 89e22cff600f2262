"""The owners of the jobs.

They submit, pause, resume, edit, cancel and run by hand, through the services, and note each answer. What was
acknowledged is the one thing that the checker holds the system to. Errands of one job come one after the other; an
answer that does not come (the store is busy) is asked for again, as a client would. Must not look at evidence.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.chaos.history import Change, Kind, Rhythm, Seen, Stop, Story
from tests.chaos.jobs import Body, Errand, Plan, Wish, sent
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, JobId, TenantId
from tickwright.domain.job_rules import read_spec
from tickwright.domain.jobs import Head, JobSpec
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import HashIdentity
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.services import change_job, run_now
from tickwright.services.cancel import cancel_execution
from tickwright.services.jobs import JobView, get_job
from tickwright.services.kit import Kit
from tickwright.services.redrive import redrive
from tickwright.services.submit import RequestKey, Submitted, submit

TENANT = TenantId("chaos")
AnswerT = TypeVar("AnswerT")


@dataclass(slots=True, kw_only=True)
class Driver:
    """All owners at once."""

    kit: Kit
    start_ms: int
    ns: Callable[[], int] = time.monotonic_ns  # of the one clock that evidence is ordered by
    stories: list[Story] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    _plans: dict[JobId, Plan] = field(default_factory=dict)
    _turns: dict[JobId, asyncio.Lock] = field(default_factory=dict)  # errands of a job, one after the other

    async def play(self, plans: Sequence[Plan]) -> None:
        """Live all stories; returns when the last errand is done."""
        await asyncio.gather(*(self._live(plan) for plan in plans))

    async def _live(self, plan: Plan) -> None:
        await self._until(plan.submit_at_ms)
        story = await self._submit(plan)
        if story is None:
            return
        for errand in plan.errands:
            await self._until(errand.at_ms)
            await self._do(story, plan, errand)

    async def _until(self, at_ms: int) -> None:
        await self.kit.clock.sleep_ms(self.start_ms + at_ms - self.kit.clock.now())

    async def _surely(self, ask: Callable[[], Awaitable[AnswerT]], story: Story | None = None) -> AnswerT:
        """Ask until there is an answer."""
        while True:
            try:
                return await ask()
            except Unavailable:
                if story is not None:
                    story.unsure = True
                self.counts["askedAgain"] += 1
                await self.kit.clock.sleep_ms(100)

    # --- submit --------------------------------------------------------------------------------------------------
    async def _submit(self, plan: Plan) -> Story | None:
        spec, invoked_ms = self._spec(plan, plan.body, 1), self.kit.clock.now()
        answer = await self._surely(lambda: submit(self.kit, TENANT, spec, _key(plan)))
        if isinstance(answer, Refusal):
            self.broken.append(f"submit of {plan.name} was refused: {answer.detail}")
            return None
        story = Story(
            job_id=answer.head.job_id,
            name=plan.name,
            expect=plan.expect,
            overlaps=plan.overlaps,
            catches_up_paused=plan.catches_up_paused,
        )
        story.changes.append(self._change(Kind.SUBMIT, invoked_ms, answer.head, plan.rhythm))
        self.stories.append(story)
        self._plans[story.job_id] = plan
        return story

    def _spec(self, plan: Plan, body: Body, version: int) -> JobSpec:
        now = self.kit.clock.now()
        return read_spec(sent(plan, body, version), identity=HashIdentity(TENANT, plan.name), now=now)

    def _change(self, kind: Kind, invoked_ms: int, head: Head, rhythm: Rhythm) -> Change:
        return Change(
            kind=kind,
            invoked_ms=invoked_ms,
            acked_ms=self.kit.clock.now(),
            acked_ns=self.ns(),
            version=head.version,
            definition_version=head.definition_version,
            status=head.status,
            next_ms=head.next_run_at,
            decided_ms=max(head.fired_through or -1, head.passed_through or -1),
            rhythm=rhythm,
        )

    # --- errands -------------------------------------------------------------------------------------------------
    async def pounce(self, job_id: JobId, wish: Wish) -> None:
        """Ask for something now that nobody had planned, of a job that was acknowledged."""
        story = next((one for one in self.stories if one.job_id == job_id), None)
        if story is not None:
            await self._do(story, self._plans[job_id], Errand(at_ms=0, wish=wish))

    async def _do(self, story: Story, plan: Plan, errand: Errand) -> None:
        async with self._turns.setdefault(story.job_id, asyncio.Lock()):
            await self._do_now(story, plan, errand)

    async def _do_now(self, story: Story, plan: Plan, errand: Errand) -> None:
        match errand.wish:
            case Wish.PAUSE | Wish.RESUME | Wish.CANCEL | Wish.EDIT:
                await self._alter(story, plan, errand)
            case Wish.RUN_NOW:
                await self._run_now(story, errand)
            case Wish.STOP_ONE:
                await self._stop_one(story)
            case Wish.REDRIVE:
                await self._redrive(story, errand)
            case Wish.REPEAT:
                await self._repeat(story, plan)

    async def _alter(self, story: Story, plan: Plan, errand: Errand) -> None:
        """One change of a job. A job that is over refuses it, which changes nothing."""
        kind = Kind(errand.wish.value)
        invoked_ms = self.kit.clock.now()
        blurs = story if kind in {Kind.EDIT, Kind.RESUME} else None
        answer = await self._surely(lambda: self._asked(story, plan, errand), blurs)
        rhythm = errand.rhythm or story.changes[-1].rhythm
        if isinstance(answer, Refusal):
            self.counts[f"refused.{kind.value}.{answer.code.value}"] += 1
            return
        change = self._change(kind, invoked_ms, answer.head, rhythm)
        if kind in {Kind.CANCEL, Kind.PAUSE}:
            census = await self._surely(lambda: self._census(story))
            change = replace(change, census=census)
        if change.version != story.changes[-1].version:
            story.changes.append(change)
        self.counts[kind.value] += 1

    async def _asked(self, story: Story, plan: Plan, errand: Errand) -> JobView | Refusal:
        match errand.wish:
            case Wish.PAUSE:
                return await change_job.pause_job(self.kit, TENANT, story.job_id, None)
            case Wish.RESUME:
                return await change_job.resume_job(self.kit, TENANT, story.job_id, None)
            case Wish.CANCEL:
                return await change_job.cancel_job(self.kit, TENANT, story.job_id, None)
            case _:
                assert errand.body is not None
                seen = await get_job(self.kit, TENANT, story.job_id)
                if isinstance(seen, Refusal):
                    return seen
                spec = self._spec(plan, errand.body, seen.definition.version + 1)
                return await change_job.edit_job(self.kit, TENANT, story.job_id, spec, seen.head.version)

    async def _census(self, story: Story) -> dict[ExecutionKey, Seen]:
        return {row.key: _seen(row) for row in await executions_of(self.kit, story.job_id)}

    async def _run_now(self, story: Story, errand: Errand) -> None:
        request = RequestKey(key=f"POST /v1/jobs/run {story.name} {errand.at_ms}", body_hash="-")
        answer = await self._surely(lambda: run_now.run_now(self.kit, TENANT, story.job_id, request))
        if isinstance(answer, Refusal):
            self.counts[f"refused.run_now.{answer.code.value}"] += 1
            return
        story.manual.add(answer.key)
        self.counts["run_now"] += 1

    async def _stop_one(self, story: Story) -> None:
        rows = await self._surely(lambda: executions_of(self.kit, story.job_id))
        newest = next((row for row in rows if not row.is_terminal), None)
        if newest is None:
            return
        answer = await self._surely(lambda: cancel_execution(self.kit, TENANT, newest.ref.id))
        if isinstance(answer, Refusal):
            self.counts[f"refused.stop_one.{answer.code.value}"] += 1
            return
        story.stops.append(Stop(key=newest.key, acked_ns=self.ns(), epoch=answer.lease_epoch))
        self.counts["stop_one"] += 1

    async def _redrive(self, story: Story, errand: Errand) -> None:
        rows = await self._surely(lambda: executions_of(self.kit, story.job_id))
        dead = next((row for row in rows if row.state is State.DEAD), None)
        if dead is None:
            return
        request = RequestKey(key=f"POST /v1/executions/redrive {story.name} {errand.at_ms}", body_hash="-")
        answer = await self._surely(lambda: redrive(self.kit, TENANT, dead.ref.id, request))
        name = f"refused.redrive.{answer.code.value}" if isinstance(answer, Refusal) else "redrive"
        self.counts[name] += 1

    async def _repeat(self, story: Story, plan: Plan) -> None:
        """The same request answers the same job."""
        spec = self._spec(plan, plan.body, 1)
        answer = await self._surely(lambda: submit(self.kit, TENANT, spec, _key(plan)))
        same = isinstance(answer, Submitted) and answer.replayed and answer.head.job_id == story.job_id
        if not same:
            self.broken.append(f"the repeated submit of {plan.name} was answered {answer}")
        self.counts["repeat"] += 1


def _key(plan: Plan) -> RequestKey:
    return RequestKey(key=f"POST /v1/jobs {plan.name}", body_hash=json.dumps(plan.body, sort_keys=True))


def _seen(row: Execution) -> Seen:
    return Seen(state=row.state, epoch=row.lease_epoch, scheduled_ms=row.scheduled_at)


async def executions_of(kit: Kit, job_id: JobId) -> list[Execution]:
    """All executions of a job, newest first, strongly read."""
    found: list[Execution] = []
    after_key: str | None = None
    while True:
        page = await kit.store.executions_of(job_id, limit=500, after_key=after_key)
        found += page.items
        if (after_key := page.next_key) is None:
            return found
