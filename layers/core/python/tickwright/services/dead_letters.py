"""Dead letters: find them, group them by what they died of, look at one, and take off the list what nobody wants run.

The attention list says where to look; each execution is read strongly, and judged as it is. Another tenant's does not
exist here. Promises: SEM-DLQ-1, SEM-DLQ-3.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain.changes.moves import Discard
from tickwright.domain.dead_letters import SAMPLE_MAX, DeadFilter, DeadGroup, grouped, told_by
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, TenantId, parse_execution_id
from tickwright.domain.jobs import JobSpec
from tickwright.domain.outcomes import NO_SUCH_EXECUTION, Code, Refusal
from tickwright.domain.shown import Shown
from tickwright.domain.transitions import State
from tickwright.ports.store import Applied, Listing, Refused
from tickwright.services.hidden import hiding_by_now
from tickwright.services.jobs import get_execution
from tickwright.services.kit import Kit
from tickwright.services.payloads import definition_given
from tickwright.services.redrive import CHANGED, not_dead
from tickwright.services.settle import settle
from tickwright.services.shown import as_listed, as_shown

_PAGE = 200
_WRITES_AT_ONCE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A dead execution with what it was given, all that is hidden of it by now named; None: its version is gone."""

    execution: Shown
    spec: JobSpec | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many a filter means, and a few of them; not `exact`: at least so many, for there was more to look at."""

    count: int
    exact: bool
    sample: tuple[Shown, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The biggest groups of what was looked at, and how many there are; not `exact`: older ones were not looked at."""

    groups: tuple[DeadGroup, ...]
    in_all: int
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Discards:
    """What became of a discard by filter; not `exact`: others are left, and the same request goes on with them."""

    discarded: int
    refused: int
    exact: bool


async def list_dead(
    kit: Kit, tenant_id: TenantId, wanted: DeadFilter, *, limit: int, after_key: str | None = None
) -> Listing[Execution]:
    """A page of the list, newest death first; filters may leave a page short, with a next one (B164)."""
    page = await kit.store.attention_eventually(
        tenant_id, limit=limit, since=wanted.since, until=wanted.until, after_key=after_key
    )
    return Listing(items=await those_meant(kit, tenant_id, wanted, page.items), next_key=page.next_key)


async def those_meant(
    kit: Kit, tenant_id: TenantId, wanted: DeadFilter, refs: Sequence[ExecutionRef]
) -> list[Execution]:
    """Those of a part of the list that a filter means, in its order, as they are now."""
    rows = await kit.store.executions(refs)
    mine = [rows[ref] for ref in refs if ref in rows and rows[ref].tenant_id == tenant_id]
    return [row for row in mine if wanted.matches(row)]


async def count_dead(kit: Kit, tenant_id: TenantId, wanted: DeadFilter) -> Counted:
    """What a bulk request with this filter would begin with."""
    count, exact, sample = 0, True, list[Execution]()
    async for page, more in _pages(kit, tenant_id, wanted):
        count, exact = count + len(page), not more
        sample += page[: SAMPLE_MAX - len(sample)]
    return Counted(count=count, exact=exact, sample=tuple(await as_listed(kit, sample)))


async def group_dead(kit: Kit, tenant_id: TenantId, wanted: DeadFilter, *, limit: int) -> Grouped:
    """The newest deaths by their fingerprint; what was said in them is looked through only for what is shown."""
    letters, exact = list[Execution](), True
    async for page, more in _pages(kit, tenant_id, wanted):
        letters, exact = letters + page, not more
    groups = grouped(letters)
    return Grouped(groups=await _as_shown(kit, groups[:limit], letters), in_all=len(groups), exact=exact)


async def _as_shown(kit: Kit, groups: Sequence[DeadGroup], letters: Sequence[Execution]) -> tuple[DeadGroup, ...]:
    """Each with the error of the one that died last, as it may be shown."""
    by_ref = {letter.ref: letter for letter in letters}
    newest = await as_listed(kit, [by_ref[group.sample[0]] for group in groups])
    return tuple(told_by(group, letter) for group, letter in zip(groups, newest, strict=True))


async def _pages(kit: Kit, tenant_id: TenantId, wanted: DeadFilter) -> AsyncIterator[tuple[list[Execution], bool]]:
    """The list page by page, as far as one request looks, and whether it goes on."""
    after_key: str | None = None
    for _ in range(limits.DEAD_LOOKED_AT_MAX // _PAGE):
        page = await list_dead(kit, tenant_id, wanted, limit=_PAGE, after_key=after_key)
        after_key = page.next_key
        yield list(page.items), after_key is not None
        if after_key is None:
            return


async def inspect(kit: Kit, tenant_id: TenantId, execution_id: str) -> DeadLetter | Refusal:
    """One dead execution, a discarded one too, and what it was given."""
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    if execution.state is not State.DEAD:
        detail = f"The execution is {execution.state.value}, not DEAD; look at it under /v1/executions."
        return Refusal(code=Code.NOT_FOUND, detail=detail)
    given = await definition_given(kit, execution)
    spec = None if given is None else await hiding_by_now(kit, execution, given.spec)
    return DeadLetter(execution=await as_shown(kit, execution), spec=spec)


async def discard_each(
    kit: Kit, tenant_id: TenantId, execution_ids: Sequence[str], reason: str
) -> dict[str, Execution | Refusal]:
    """Discard these; each as it is, or why not. One that is discarded already stays so, with the reason it has."""
    refs = {text: ref for text in execution_ids if (ref := parse_execution_id(text)) is not None}
    rows = await kit.store.executions(list(dict.fromkeys(refs.values())))
    mine = {ref: row for ref, row in rows.items() if row.tenant_id == tenant_id}
    done = await _discarded(kit, list(mine.values()), reason)
    outcomes = {text: done[ref] for text, ref in refs.items() if ref in done}
    return {text: outcomes.get(text, NO_SUCH_EXECUTION) for text in execution_ids}


async def discard_found(kit: Kit, tenant_id: TenantId, wanted: DeadFilter, reason: str) -> Discards:
    """Discard what a filter means now, up to a bound."""
    found, exact = list[Execution](), True
    async for page, more in _pages(kit, tenant_id, wanted):
        found, exact = found + page, not more
        if len(found) > limits.DISCARDED_AT_ONCE_MAX:
            break
    exact = exact and len(found) <= limits.DISCARDED_AT_ONCE_MAX
    done = await _discarded(kit, found[: limits.DISCARDED_AT_ONCE_MAX], reason)
    refused = sum(isinstance(outcome, Refusal) for outcome in done.values())
    return Discards(discarded=len(done) - refused, refused=refused, exact=exact)


async def _discarded(kit: Kit, rows: Sequence[Execution], reason: str) -> dict[ExecutionRef, Execution | Refusal]:
    outcomes: dict[ExecutionRef, Execution | Refusal] = {
        row.ref: row if row.discarded is not None else not_dead(row)
        for row in rows
        if row.state is not State.DEAD or row.discarded is not None
    }
    left = [row for row in rows if row.ref not in outcomes]
    for start in range(0, len(left), _WRITES_AT_ONCE):
        outcomes |= await _written(kit, left[start : start + _WRITES_AT_ONCE], reason)
    return outcomes


async def _written(kit: Kit, rows: Sequence[Execution], reason: str) -> dict[ExecutionRef, Execution | Refusal]:
    settled = [await settle(kit, row) for row in rows]
    now = kit.clock.now()
    changes = [Discard(ref=row.ref, seen_epoch=row.lease_epoch, now=now, reason=reason) for row in settled]
    answers: dict[ExecutionRef, Execution | Refusal] = {}
    for row, outcome in zip(settled, await kit.store.write_each(changes), strict=True):
        match outcome:
            case Applied(new=Execution() as new):
                kit.emit(EventName.EXECUTION_DISCARDED, executionId=row.ref.id, jobId=row.job_id)
                answers[row.ref] = new
            case Refused(old=Execution() as old) if old.discarded is not None:
                answers[row.ref] = old
            case Refused(old=Execution() as old) if old.state is not State.DEAD:
                answers[row.ref] = not_dead(old)
            case Refused(old=None):
                answers[row.ref] = NO_SUCH_EXECUTION
            case _:
                answers[row.ref] = CHANGED
    return answers
