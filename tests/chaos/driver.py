"""The owners of the jobs.

They submit, pause, resume, edit, cancel and run by hand, through the services, and note each answer. What was
acknowledged is the one thing that the checker holds the system to. Errands of one job come one after the other; an
answer that does not come (the store is busy) is asked for again, as a client would. Must not look at evidence.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.chaos.history import Change, Closing, Kind, Put, Seen, Stop, Story, Waits
from tests.chaos.jobs import Errand, Plan, Wish
from tests.chaos.questions import Known, ask, calendar_body, executions_of, request_of, spec_of
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobSpec, JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.redrive_orders import RATE_PER_MIN_MAX, Canary
from tickwright.domain.schedules import from_compact, read_calendar
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.services import change_job, run_now
from tickwright.services.calendars import put_calendar
from tickwright.services.cancel import cancel_execution
from tickwright.services.dead_letters import discard_each
from tickwright.services.jobs import JobView, get_job
from tickwright.services.kit import Kit
from tickwright.services.named_calendars import calendars_named
from tickwright.services.redrive import redrive
from tickwright.services.redrive_orders import Ordered, cancel_order, order_redrive
from tickwright.services.submit import RequestKey, Submitted, submit

TENANT = TenantId("chaos")  # of the jobs of a chaos run
AnswerT = TypeVar("AnswerT")


@dataclass(slots=True, kw_only=True)
class Driver:
    """All owners at once."""

    kit: Kit
    start_ms: int
    ns: Callable[[], int] = time.monotonic_ns  # of the one clock that evidence is ordered by
    lag_ms: int = 0  # how far lists may be behind
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
        puts = [await self._put(plan, closing) for closing in plan.closings]
        spec, invoked_ms = spec_of(self.kit, plan, plan.body, 1), self.kit.clock.now()
        answer = await self._surely(lambda: _submitted(self.kit, plan, spec, request_of(plan)))
        if isinstance(answer, Refusal):
            self.broken.append(f"submit of {plan.name} was refused: {answer.detail}")
            return None
        return self._told(plan, invoked_ms, answer.head, puts)

    def _told(self, plan: Plan, invoked_ms: int, head: Head, puts: list[Put]) -> Story:
        story = Story(
            job_id=head.job_id,
            name=plan.name,
            expect=plan.expect,
            overlaps=plan.overlaps,
            catches_up_paused=plan.catches_up_paused,
            tenant=plan.tenant,
            runs_max=plan.runs_max,
            rate_per_min=plan.rate_per_min,
            puts=puts,
            rhythms={1: plan.rhythm},
        )
        story.changes.append(self._change(Kind.SUBMIT, invoked_ms, head, story))
        self.stories.append(story)
        self._plans[story.job_id] = plan
        return story

    def _change(self, kind: Kind, invoked_ms: int, head: Head, story: Story) -> Change:
        last = story.rhythms[max(story.rhythms)]  # that of an edit whose answer was lost is not known
        waits = None
        if head.pending_version is not None and head.effective_from is not None:
            rhythm = story.rhythms.get(head.pending_version, last)
            waits = Waits(version=head.pending_version, at_ms=head.effective_from, rhythm=rhythm)
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
            rhythm=story.rhythms.get(head.definition_version, last),
            waits=waits,
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
            case Wish.REDRIVE | Wish.ORDER | Wish.CANCEL_ORDER | Wish.DISCARD:
                await self._do_with_dead(story, errand)
            case Wish.REPEAT:
                await self._repeat(story, plan)
            case Wish.NAME_TWICE:
                await self._name_twice(story, plan, errand)
            case Wish.PUT_CALENDAR:
                assert errand.closing is not None
                story.puts.append(await self._put(plan, errand.closing))
                self.counts["put_calendar"] += 1
            case _:
                await self._question(story, plan, errand)

    async def _do_with_dead(self, story: Story, errand: Errand) -> None:
        match errand.wish:
            case Wish.REDRIVE:
                await self._redrive(story, errand)
            case Wish.DISCARD:
                await self._discard(story)
            case _:
                await self._order(story, errand)

    async def _question(self, story: Story, plan: Plan, errand: Errand) -> None:
        """Ask for something that changes nothing."""
        known = Known(kit=self.kit, plan=plan, story=story, stories=self.stories, lag_ms=self.lag_ms)
        self.broken += await self._surely(lambda: ask(known, errand))
        self.counts[errand.wish.value] += 1

    async def _alter(self, story: Story, plan: Plan, errand: Errand) -> None:
        """One change of a job. A job that is over refuses it, which changes nothing."""
        kind = Kind(errand.wish.value)
        invoked_ms = self.kit.clock.now()
        blurs = story if kind in {Kind.EDIT, Kind.RESUME} else None
        answer = await self._surely(lambda: self._asked(story, plan, errand), blurs)
        if isinstance(answer, Refusal):
            self.counts[f"refused.{kind.value}.{answer.code.value}"] += 1
            return
        if errand.rhythm is not None:
            story.rhythms[answer.head.pending_version or answer.head.definition_version] = errand.rhythm
        change = self._change(kind, invoked_ms, answer.head, story)
        if kind in {Kind.CANCEL, Kind.PAUSE}:
            census = await self._surely(lambda: self._census(story))
            change = replace(change, census=census)
        if change.version != story.changes[-1].version:
            story.changes.append(change)
        self.counts[kind.value if change.waits is None else f"{kind.value}_waits"] += 1

    async def _asked(self, story: Story, plan: Plan, errand: Errand) -> JobView | Refusal:
        tenant = TenantId(story.tenant)
        match errand.wish:
            case Wish.PAUSE:
                return await change_job.pause_job(self.kit, tenant, story.job_id, None)
            case Wish.RESUME:
                return await change_job.resume_job(self.kit, tenant, story.job_id, None)
            case Wish.CANCEL:
                return await change_job.cancel_job(self.kit, tenant, story.job_id, None)
            case _:
                return await self._edited(story, plan, errand)

    async def _edited(self, story: Story, plan: Plan, errand: Errand) -> JobView | Refusal:
        """An edit of what was just read; one that waits goes on waiting unless the owner says that it shall not."""
        assert errand.body is not None
        tenant = TenantId(story.tenant)
        seen = await get_job(self.kit, tenant, story.job_id)
        if isinstance(seen, Refusal):
            return seen
        head = seen.head
        spec = spec_of(self.kit, plan, errand.body, max(head.definition_version, head.pending_version or 0) + 1)
        at = None if errand.counts_at_ms is None else Instant(self.start_ms + errand.counts_at_ms)
        answer = await change_job.edit_job(
            self.kit, tenant, story.job_id, spec, head.version, at, drops_waiting=errand.drops_waiting
        )
        waited = head.effective_from is not None and head.effective_from > self.kit.clock.now()
        if waited and not errand.drops_waiting and not isinstance(answer, Refusal):
            self.broken.append(f"an edit of {plan.name} took the place of one that waits, and nobody said so")
        return answer

    async def _census(self, story: Story) -> dict[ExecutionKey, Seen]:
        return {row.key: _seen(row) for row in await executions_of(self.kit, story.job_id)}

    async def _run_now(self, story: Story, errand: Errand) -> None:
        tenant = TenantId(story.tenant)
        request = RequestKey(key=f"POST /v1/jobs/run {story.job_id} {errand.at_ms}", body_hash="-")
        answer = await self._surely(lambda: run_now.run_now(self.kit, tenant, story.job_id, request))
        if isinstance(answer, Refusal):
            self.counts[f"refused.run_now.{answer.code.value}"] += 1
            return
        story.manual.add(answer.key)
        self.counts["run_now"] += 1
        self.counts["run_now_paused"] += story.changes[-1].status is JobStatus.PAUSED
        if errand.twice:
            again = await self._surely(lambda: run_now.run_now(self.kit, tenant, story.job_id, request))
            if isinstance(again, Refusal) or again.key != answer.key:
                self.broken.append(f"the repeated request for a run of {story.name} was answered {again}")
            self.counts["run_now_twice"] += 1

    async def _stop_one(self, story: Story) -> None:
        rows = await self._surely(lambda: executions_of(self.kit, story.job_id))
        newest = next((row for row in rows if not row.is_terminal), None)
        if newest is None:
            return
        answer = await self._surely(lambda: cancel_execution(self.kit, TenantId(story.tenant), newest.ref.id))
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
        request = RequestKey(key=f"POST /v1/executions/redrive {story.job_id} {errand.at_ms}", body_hash="-")
        answer = await self._surely(lambda: redrive(self.kit, TenantId(story.tenant), dead.ref.id, request))
        name = f"refused.redrive.{answer.code.value}" if isinstance(answer, Refusal) else "redrive"
        self.counts[name] += 1

    async def _order(self, story: Story, errand: Errand) -> None:
        """Order a redrive of all that is dead of the job, each third with a canary; or take the last order back."""
        tenant = TenantId(story.tenant)
        if errand.wish is Wish.CANCEL_ORDER:
            if not story.orders:
                return
            answer = await self._surely(lambda: cancel_order(self.kit, tenant, story.orders[-1]))
        else:
            ordered = Ordered(
                wanted=DeadFilter(job_id=story.job_id),
                rate_per_min=RATE_PER_MIN_MAX,
                canary=Canary(first=1) if errand.at_ms % 3 == 0 else None,
            )
            request = RequestKey(key=f"POST /v1/dead-letters/redrive {story.job_id} {errand.at_ms}", body_hash="-")
            answer = await self._surely(lambda: order_redrive(self.kit, tenant, ordered, request))
        if isinstance(answer, Refusal):
            self.counts[f"refused.{errand.wish.value}.{answer.code.value}"] += 1
            return
        self.counts[errand.wish.value] += 1
        if errand.wish is Wish.ORDER:
            story.orders.append(answer.order_id)

    async def _discard(self, story: Story) -> None:
        rows = await self._surely(lambda: executions_of(self.kit, story.job_id))
        dead = next((row for row in rows if row.state is State.DEAD), None)
        if dead is None:
            return
        tenant = TenantId(story.tenant)
        answers = await self._surely(lambda: discard_each(self.kit, tenant, [dead.ref.id], "nobody wants it"))
        answer = answers[dead.ref.id]
        name = f"refused.discard.{answer.code.value}" if isinstance(answer, Refusal) else "discard"
        self.counts[name] += 1

    async def _repeat(self, story: Story, plan: Plan) -> None:
        """The same request answers the same job."""
        spec = spec_of(self.kit, plan, plan.body, 1)
        answer = await self._surely(lambda: submit(self.kit, TenantId(plan.tenant), spec, request_of(plan)))
        same = isinstance(answer, Submitted) and answer.replayed and answer.head.job_id == story.job_id
        if not same:
            self.broken.append(f"the repeated submit of {plan.name} was answered {answer}")
        self.counts["repeat"] += 1

    async def _name_twice(self, story: Story, plan: Plan, errand: Errand) -> None:
        """Another job of the same name is refused while the first is open, and lives beside it when that is over."""
        tenant, invoked_ms = TenantId(plan.tenant), self.kit.clock.now()
        request = RequestKey(key=f"POST /v1/jobs {plan.name} {errand.at_ms}", body_hash="-")
        spec = spec_of(self.kit, plan, plan.body, 1)
        before = await self._surely(lambda: get_job(self.kit, tenant, story.job_id))
        answer = await self._surely(lambda: submit(self.kit, tenant, spec, request))
        after = await self._surely(lambda: get_job(self.kit, tenant, story.job_id))
        if isinstance(answer, Submitted):
            self._told(plan, invoked_ms, answer.head, [])
            self.counts["name_again"] += 1
            wrong = _is_open(after)
        else:
            self.counts[f"refused.name_twice.{answer.code.value}"] += 1
            wrong = answer.code is not Code.NAME_TAKEN or not _is_open(before)
        if wrong:
            self.broken.append(f"a second submit of the name {plan.name} was answered {answer}")

    async def _put(self, plan: Plan, closing: Closing) -> Put:
        """Put a calendar; it counts from some instant between call and answer."""
        content, invoked_ms = read_calendar(calendar_body(closing)), self.kit.clock.now()
        tenant = TenantId(plan.tenant)
        answer = await self._surely(lambda: put_calendar(self.kit, tenant, closing.name, content, None))
        assert not isinstance(answer, Refusal), answer
        acked_ms = self.kit.clock.now()
        return Put(closing=closing, version=answer.calendar.version, invoked_ms=invoked_ms, acked_ms=acked_ms)


def _is_open(view: JobView | Refusal) -> bool:
    return not isinstance(view, Refusal) and view.head.status in {JobStatus.ACTIVE, JobStatus.PAUSED}


async def _submitted(kit: Kit, plan: Plan, spec: JobSpec, request: RequestKey) -> Submitted | Refusal:
    """As the API does: the calendars that are named must be there."""
    tenant = TenantId(plan.tenant)
    named = await calendars_named(kit, tenant, from_compact(spec.schedule))
    return named if isinstance(named, Refusal) else await submit(kit, tenant, spec, request)


def _seen(row: Execution) -> Seen:
    return Seen(state=row.state, epoch=row.lease_epoch, scheduled_ms=row.scheduled_at)
