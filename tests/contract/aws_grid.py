"""Every boundary once: stored items and changes of them, in all combinations that a condition can tell apart.

Must not hold assertions. Where chance (aws_strategies.py) would seldom meet a boundary, this counts them out.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from tests.contract.aws_strategies import BARE, CLOCK_ERROR_MS, FULL, NOW, OVER, TTL
from tests.contract.aws_strategies_jobs import LATER
from tests.support.builders import TICK, a_head, a_job_id
from tickwright.domain.changes.executions import (
    Claim,
    Fail,
    Failing,
    Heartbeat,
    Insert,
    Reap,
    StrikeOwed,
    Succeed,
)
from tickwright.domain.changes.heads import Advance, Occupy, Reopen, Rewrite, StillOpen
from tickwright.domain.changes.moves import Cancel, Discard, Expire, PutOff, ReapStopping, Redrive, Release, Stop
from tickwright.domain.epochs import Era
from tickwright.domain.executions import Discarded, ErrorSummary, Execution, Noted, Owed, Reason
from tickwright.domain.ids import Epoch, TenantId, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import RUN, SKIP_OVERLAP, Head, JobStatus, Reopened
from tickwright.domain.transitions import TERMINAL, State

Case = tuple[Any, Any]
_IDS = itertools.count(2**61)
_OWED = frozenset({Owed.ACTIVE})
_ERROR = ErrorSummary(error_class="ValueError", message="no")
_ENDS: tuple[dict[str, Any], ...] = (
    {"now": NOW, "owed": frozenset(), "ttl": TTL},
    {"now": NOW, "owed": _OWED, "ttl": None},
)
_SAID: dict[str, Any] = {"reason": Reason.FAILED, "error": _ERROR, "now": NOW}
_RETRY: dict[str, Any] = {"retry_at": LATER, "owed": frozenset(), "ttl": None}
_FAILINGS = (
    Failing(**_SAID, wait_key=None, **_RETRY),
    Failing(**_SAID, wait_key="17", **_RETRY),
    *(Failing(**_SAID, retry_at=None, wait_key=None, owed=end["owed"], ttl=end["ttl"]) for end in _ENDS),
)


def executions() -> Iterator[Execution]:
    """Every state, on both sides of each boundary, by turns with the fewest fields and with all."""
    for shape, (state, more) in zip(itertools.cycle((BARE, FULL, FULL, BARE, BARE)), _states(), strict=False):
        given: dict[str, Any] = {
            "job_id": a_job_id(next(_IDS)),
            "tenant_id": TenantId("acme"),
            "state": state,
            "scheduled_at": TICK,
            "created_at": TICK,
            "job_version": 1,
            "attempt": 1,
            "max_attempts": 2,
            "lease_epoch": Epoch(2),
        }
        yield Execution(**(given | shape | more))


def _states() -> Iterator[tuple[State, dict[str, Any]]]:
    waits: tuple[dict[str, Any], ...] = ({}, {"wait_key": "17", "wait_at": NOW})
    for state, most, wait in product((State.WAITING, State.QUEUED), (1, 2), waits):
        yield state, {"max_attempts": most, **wait}
    for most, wait, at in product((1, 2), waits, (NOW - 1, NOW, NOW + 1)):
        yield State.RETRY, {"max_attempts": most, **wait, "retry_at": Instant(at)}
    plain: dict[str, Any] = {
        "lease_owner": WorkerId("worker-1"),
        "lease_until": Instant(OVER - 1),
        "deadline_at": Instant(NOW + 1),
        "retry_afters": 99,
    }
    others: tuple[dict[str, Any], ...] = ({}, {"lease_until": OVER}, {"deadline_at": NOW}, {"retry_afters": 100})
    for state, most, other in product((State.RUNNING, State.CANCELLING), (1, 2), others):
        yield state, {"max_attempts": most, **plain, **other}
    for state, owed in product(sorted(TERMINAL, key=lambda end: end.value), (frozenset[Owed](), _OWED)):
        failed = {"failed_at": NOW} if state is State.DEAD else {}
        yield state, {"finished_at": NOW, "owed": owed, "ttl": None if owed else TTL, **failed}
    yield State.DEAD, {"finished_at": NOW, "ttl": TTL, "discarded": Discarded(at=NOW, reason="not wanted")}


def _heartbeats(old: Execution, epoch: Epoch, lease: Instant) -> Iterator[Heartbeat]:
    """With and without what it notes, and over what."""
    plain = Heartbeat(ref=old.ref, epoch=epoch, now=NOW, lease_until=LATER)
    of_seen = replace(plain, seen_lease_until=lease)
    noting = replace(of_seen, noted=Noted(checkpoint="1"), seen_noted=old.noted)
    yield from (plain, of_seen, noting)
    if old.state is State.RUNNING:
        told = (Noted(), Noted(progress=0.75), Noted(progress=0.75, checkpoint="1"))
        seen = (None, old.noted, Noted(progress=0.5), Noted(checkpoint="0"), Noted(progress=0.5, checkpoint="0"))
        for noted, seen_noted in product(told, seen):
            yield replace(noting, noted=noted, seen_noted=seen_noted)


def _claims(old: Execution) -> Iterator[Claim]:
    """By whoever has tried, or never; in eras that begin below its epoch, at it, above it, and end at it."""
    plain = Claim(
        ref=old.ref,
        worker=WorkerId("worker-3"),
        token="token-a",
        now=NOW,
        lease_ms=60_000,
        timeout_ms=30_000,
        clock_error_ms=CLOCK_ERROR_MS,
    )
    yield from (plain, replace(plain, token="token-c"))
    for base, is_below in product((old.lease_epoch, old.lease_epoch + 1), (False, True)):
        yield replace(plain, era=Era(base=Epoch(base)), is_below=is_below)


def changes_of(old: Execution) -> Iterator[Any]:
    """Each change as it fits, in every form, and missing by one thing at a time."""
    ref, fits, misses = old.ref, old.lease_epoch, Epoch(old.lease_epoch - 1)
    lease = old.lease_until or NOW
    yield Insert(execution=old)
    yield from _claims(old)
    for epoch in (fits, misses):
        yield from _heartbeats(old, epoch, lease)
        yield StrikeOwed(ref=ref, seen_epoch=epoch, ttl=TTL + 1)
        yield Redrive(ref=ref, seen_epoch=epoch, now=NOW, attempts=3, run_deadline_at=LATER)
        yield Discard(ref=ref, seen_epoch=epoch, now=NOW, reason="nobody wants it")
        yield Stop(ref=ref, epoch=epoch, **_ENDS[0])
        yield Release(ref=ref, seen_epoch=epoch, seen_wait_key="17")
    yield Heartbeat(ref=ref, epoch=fits, now=NOW, lease_until=LATER, seen_lease_until=Instant(OVER - 2))
    yield Release(ref=ref, seen_epoch=fits, seen_wait_key="18")
    yield Stop(ref=ref, epoch=fits, **_ENDS[1])
    for end, result in product(_ENDS, (None, "1")):
        yield Succeed(ref=ref, epoch=fits, result=result, **end)
    yield Succeed(ref=ref, epoch=misses, result=None, **_ENDS[0])
    for failing in _FAILINGS:
        yield Fail(ref=ref, epoch=fits, failing=failing)
        yield _reap(old, fits, lease, failing)
    yield Fail(ref=ref, epoch=misses, failing=_FAILINGS[2])
    yield _reap(old, misses, lease, _FAILINGS[2])
    yield _reap(old, fits, Instant(OVER - 2), _FAILINGS[2])
    for epoch, seen, end in ((fits, lease, 0), (fits, lease, 1), (misses, lease, 0), (fits, Instant(OVER - 2), 0)):
        yield ReapStopping(
            ref=ref, seen_epoch=epoch, seen_lease_until=seen, clock_error_ms=CLOCK_ERROR_MS, **_ENDS[end]
        )
    for epoch, wait_key, asked in ((fits, None, False), (fits, "17", False), (fits, None, True), (fits, "17", True)):
        yield PutOff(ref=ref, epoch=epoch, retry_at=LATER, wait_key=wait_key, asked=asked)
        said = _FAILINGS[0].error if asked else None
        yield PutOff(ref=ref, epoch=epoch, retry_at=LATER, wait_key=wait_key, asked=asked, error=said)
    yield PutOff(ref=ref, epoch=misses, retry_at=LATER, wait_key=None, asked=False)
    for state, epoch, end in (
        (old.state, fits, 0),
        (old.state, fits, 1),
        (old.state, misses, 0),
        (State.QUEUED, fits, 0),
    ):
        yield Cancel(ref=ref, seen_state=state, seen_epoch=epoch, reason=Reason.PAUSED, **_ENDS[end])
        yield Expire(ref=ref, seen_state=state, seen_epoch=epoch, **_ENDS[end])


def _reap(old: Execution, epoch: Epoch, lease: Instant, failing: Failing) -> Reap:
    return Reap(ref=old.ref, seen_epoch=epoch, seen_lease_until=lease, clock_error_ms=CLOCK_ERROR_MS, failing=failing)


def cases_of_executions() -> Iterator[Case]:
    """All of them, and each change once where there is no item."""
    olds = list(executions())
    for old in olds:
        yield from ((old, change) for change in changes_of(old))
    yield from ((None, change) for change in changes_of(olds[0]))


_ACTIVE, _OTHER = "20261201T000000000Z@1", "20261201T000000000Z@2"
_REOPENED = Reopened(since=TICK, until=NOW)


def heads() -> Iterator[Head]:
    """Due or paused, fired or not, occupied or not, with passed ticks or not."""
    fired: dict[str, Any] = {"fired_through": NOW, "fired_version": 1, "fired_at": NOW, "fired_as": RUN, "runs": 1}
    for status, was, active, passed in product(
        (JobStatus.ACTIVE, JobStatus.PAUSED), ({}, fired), (None, _ACTIVE), (None, NOW)
    ):
        due: dict[str, Any] = {"next_run_at": LATER} if status is JobStatus.ACTIVE else {"reopened": _REOPENED}
        yield a_head(
            job_id=a_job_id(next(_IDS)), status=status, version=2, active=active, passed_through=passed, **due, **was
        )


def advances(old: Head) -> Iterator[Advance]:
    """The twelve forms of a decision as it was seen, and one form for each thing that was seen otherwise."""
    plain = Advance(
        job_id=old.job_id,
        tick=LATER,
        version=2,
        definition_version=1,
        seen_fired_through=old.fired_through,
        seen_active=old.active,
        next_run_at=Instant(LATER + 120_000),
        tzdata="2026.3",
        fire=LATER,
        verdict=RUN,
        fired_at=NOW,
        takes_active=None,
        pins_active=True,
        passed_through=None,
        ends=False,
    )
    for ends, passed, becomes, pins in product((False, True), (None, LATER), range(3), (False, True)):
        yield replace(
            plain,
            next_run_at=None if ends else plain.next_run_at,
            ends=ends,
            passed_through=passed,
            fire=None if becomes == 0 else LATER,
            verdict=None if becomes == 0 else (SKIP_OVERLAP, RUN)[becomes - 1],
            takes_active=_OTHER if becomes == 2 and pins else None,
            pins_active=pins,
        )
    for pins in (False, True):
        for seen in (None, NOW, Instant(NOW + 1)):
            yield replace(plain, pins_active=pins, seen_fired_through=seen)
        for active in (None, _ACTIVE, _OTHER):
            yield replace(plain, pins_active=pins, seen_active=active)
    yield replace(plain, version=1)
    yield replace(plain, tick=Instant(LATER - 1))


def rewrites(old: Head) -> Iterator[Rewrite]:
    """Due or not afterwards, with and without a pin, at the version that was seen or at another."""
    due = replace(
        a_head(job_id=old.job_id, next_run_at=Instant(LATER + 1), bucket=17), run_deadline_s=60, tzdata="2026.3"
    )
    paused = replace(due, status=JobStatus.PAUSED, next_run_at=None, bucket=None, run_deadline_s=None, paused_at=NOW)
    paused = replace(paused, held=Instant(NOW + 1))
    for new, pins, seen in product((due, paused), (False, True), (None, old.next_run_at, Instant(NOW + 1))):
        yield Rewrite(new=replace(new, version=3), seen_version=2, seen_next_run_at=seen, pins_decision=pins)
    yield Rewrite(new=replace(due, version=2), seen_version=1, seen_next_run_at=None, pins_decision=False)


def cases_of_heads() -> Iterator[Case]:
    """All of them, and each change once where there is no item."""
    olds = list(heads())
    for old in olds:
        yield from ((old, change) for change in _of_head(old))
    yield from ((None, change) for change in _of_head(olds[0]))


def _of_head(old: Head) -> Iterator[Any]:
    yield from advances(old)
    yield from rewrites(old)
    for version, seen, active in product((1, 2), (None, _ACTIVE), (_ACTIVE, _OTHER)):
        yield Occupy(job_id=old.job_id, version=version, seen_active=seen, active=active)
    for version in (1, 2):
        yield StillOpen(job_id=old.job_id, version=version)
    for seen, takes, before in product((None, _ACTIVE), (None, _OTHER), (None, _REOPENED)):
        yield Reopen(
            job_id=old.job_id,
            version=2,
            seen_active=seen,
            active=takes,
            seen_reopened=before,
            reopened=Reopened(since=TICK, until=LATER),
        )
    yield Reopen(
        job_id=old.job_id, version=1, seen_active=None, active=None, seen_reopened=old.reopened, reopened=_REOPENED
    )
