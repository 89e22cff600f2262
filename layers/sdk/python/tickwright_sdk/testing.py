"""A handler in a test: called once, on a clock that the test owns, by a lease that the test may take away.

Nothing waits: `ctx.sleep`, `ctx.sleep_async` and `asyncio.sleep` move the clock. Payload and result go through JSON and
the handler's type as in production. Must not know a transport. Promise: SEM-SDK-14.
"""

import asyncio
import contextlib
import heapq
import json
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar, overload

from tickwright_sdk import limits
from tickwright_sdk.context import CANCELLED, DEADLINE, DRAINING, LOST, Context
from tickwright_sdk.handlers import Job
from tickwright_sdk.results import json_text

P = TypeVar("P")
R = TypeVar("R")
Action = Callable[[], object]

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
_LEASE_S, _TIMEOUT_S = 60.0, 300.0
_CLOCK_ERROR_S = 1.0
# After these the lease is another's: what is noted then is stored nowhere.
_OVER = frozenset({CANCELLED, LOST, DEADLINE})


class FakeClock:
    """Time that passes when somebody sleeps, or when the test says so; what is to happen then happens on the way."""

    def __init__(self, now: datetime = NOON) -> None:
        """Begin at an instant."""
        self._begun = now
        self._passed_s = 0.0
        self._coming: list[tuple[float, int, Action]] = []
        self._numbers = count()

    @property
    def now(self) -> datetime:
        """The wall clock."""
        return self._begun + timedelta(seconds=self._passed_s)

    @property
    def passed_s(self) -> float:
        """Seconds since the beginning."""
        return self._passed_s

    def after(self, seconds: float, action: Action) -> None:
        """Have something happen so much later."""
        heapq.heappush(self._coming, (self._passed_s + seconds, next(self._numbers), action))

    def advance(self, seconds: float) -> None:
        """Let time pass, with all that is to happen meanwhile."""
        end_s = self._passed_s + seconds
        while self._coming and self._coming[0][0] <= end_s:
            self.advance_to_next(end_s - self._passed_s)
        self._passed_s = max(self._passed_s, end_s)

    def advance_to_next(self, seconds_max: float) -> None:
        """Let time pass until the next thing has happened, or so long at most."""
        end_s = self._passed_s + seconds_max
        if not self._coming or self._coming[0][0] > end_s:
            self._passed_s = end_s
            return
        at_s, _, action = heapq.heappop(self._coming)
        self._passed_s = max(self._passed_s, at_s)
        action()


@dataclass(slots=True, kw_only=True)
class FakeAttempt:
    """One attempt of one execution, for one call of a handler.

    `attempt`, `checkpoint` and the rest are what `ctx` tells. Afterwards `progress`, `noted` and `log` are what the
    handler said, and `next_attempt()` is the one that goes on from it.
    """

    attempt: int = 1
    checkpoint: Any = None
    max_attempts: int = 3
    lease_epoch: int | None = None  # as the attempt, if not said
    job_id: str = "jobaaaaaaaaaaaaaaaaaaaaaaa"
    job_name: str | None = None
    tenant_id: str | None = None
    scheduled_time: datetime = NOON
    timeout_s: float = _TIMEOUT_S
    lease_s: float = _LEASE_S
    clock: FakeClock = field(default_factory=FakeClock)
    progress: float | None = None
    noted: Any = None
    log: list[str] = field(default_factory=list)
    _reason: str | None = None
    _asks: int = 0
    _at_asks: dict[int, list[Action]] = field(default_factory=dict)
    _calls: list[Action] = field(default_factory=list)
    _is_cut_off: bool = False
    _run: bool = False

    # ------------------------------------------------------------------------------------- what happens

    def cancel(self) -> None:
        """Somebody cancels the execution."""
        self._stop(CANCELLED)

    def lose_lease(self) -> None:
        """Somebody else has taken the execution over."""
        self._stop(LOST)

    def expire(self) -> None:
        """The attempt's time limit ends now, whatever the clock says."""
        self._stop(DEADLINE)

    def drain(self) -> None:
        """The worker is to stop, and cannot wait any longer."""
        self._stop(DRAINING)

    def cut_off(self) -> None:
        """No heartbeat gets through from now on: by its own clock the worker lets go before its lease is over."""
        self._is_cut_off = True
        self.clock.after(self.lease_s - _CLOCK_ERROR_S, self.lose_lease)

    def after(self, seconds: float, action: Action) -> None:
        """Have something happen when so much time has passed on the clock: `attempt.after(30, attempt.cancel)`."""
        self.clock.after(seconds, action)

    def at_ask(self, number: int, action: Action) -> None:
        """Have something happen when the handler asks for the n-th time whether to stop.

        It asks by `ctx.heartbeat()`, `ctx.cancelled`, `ctx.cancel_reason` and at the end of a `ctx.sleep()`.
        """
        self._at_asks.setdefault(number, []).append(action)

    # ----------------------------------------------------------------------------------------- the call

    @overload
    def run(self, job: Job[P, Coroutine[Any, Any, R]], payload: P) -> R: ...
    @overload
    def run(self, job: Job[P, R], payload: P) -> R: ...
    def run(self, job: Job[Any, Any], payload: object) -> object:
        """Call the handler once; what it returns, or raises. A payload or a result that production refuses raises."""
        if not isinstance(job, Job):
            raise TypeError(f"run() takes a registered handler, not {job!r}: decorate it with @worker.job(...)")
        assert not self._run, "an attempt is one call: take next_attempt(), or a FakeAttempt of its own"
        self._run = True
        self.clock.after(self.timeout_s, self.expire)
        read = job.shape.read(job.shape.text_of(payload))
        context = self._context()
        value = _on_a_loop(job.fn(read, context), self.clock) if job.is_async else job.fn(read, context)
        if value is not None and not isinstance(value, BaseException):
            json_text(value, bytes_max=limits.RESULT_BYTES_MAX, what="the result")
        if isinstance(value, BaseException):
            raise value
        return value

    def next_attempt(self) -> "FakeAttempt":
        """The attempt after this one: it is given the last checkpoint, on the same clock, under a higher epoch."""
        return FakeAttempt(
            attempt=self.attempt + 1,
            checkpoint=self.checkpoint if self.noted is None else self.noted,
            max_attempts=self.max_attempts,
            lease_epoch=self._epoch() + 1,
            job_id=self.job_id,
            job_name=self.job_name,
            tenant_id=self.tenant_id,
            scheduled_time=self.scheduled_time,
            timeout_s=self.timeout_s,
            lease_s=self.lease_s,
            clock=self.clock,
        )

    def _context(self) -> Context:
        key = self.scheduled_time.astimezone(UTC).strftime("%Y%m%dT%H%M%S000Z")
        return Context(
            execution_id=f"{self.job_id}.{key}",
            job_id=self.job_id,
            job_name=self.job_name,
            tenant_id=self.tenant_id,
            lease_epoch=self._epoch(),
            attempt=self.attempt,
            max_attempts=self.max_attempts,
            scheduled_time=self.scheduled_time,
            deadline=self.clock.now + timedelta(seconds=self.timeout_s),
            checkpoint=self.checkpoint,
            link=_FakeLink(self),
        )

    def _epoch(self) -> int:
        return self.attempt if self.lease_epoch is None else self.lease_epoch

    def _stop(self, reason: str) -> None:
        if self._reason is None:
            self._reason, calls, self._calls = reason, self._calls, []
            for call in calls:
                call()

    def _note(self, progress: float | None, checkpoint: str | None) -> None:
        """As production stores it: nothing of what a zombie says."""
        if self._reason in _OVER or self._is_cut_off:
            return
        self.progress = self.progress if progress is None else progress
        self.noted = self.noted if checkpoint is None else json.loads(checkpoint)

    def _sleep(self, seconds: float) -> None:
        end_s = self.clock.passed_s + seconds
        while self._reason is None and self.clock.passed_s < end_s:
            self.clock.advance_to_next(end_s - self.clock.passed_s)

    def _when_stopped(self, call: Action) -> Callable[[], None]:
        if self._reason is None:
            self._calls.append(call)
        else:
            call()

        def forget() -> None:
            with contextlib.suppress(ValueError):
                self._calls.remove(call)

        return forget

    def _asked(self) -> str | None:
        self._asks += 1
        for action in self._at_asks.pop(self._asks, ()):
            action()
        return self._reason


@dataclass(frozen=True, slots=True)
class _FakeLink:
    """What joins the handler to its attempt."""

    attempt: FakeAttempt

    @property
    def reason(self) -> str | None:
        return self.attempt._asked()  # noqa: SLF001 - the two are one

    def note(self, progress: float | None, checkpoint: str | None) -> None:
        self.attempt._note(progress, checkpoint)  # noqa: SLF001 - as above

    def write(self, line: str) -> None:
        self.attempt.log.append(line)

    def wait(self, seconds: float) -> None:
        """Let the time pass, up to what stops the handler."""
        self.attempt._sleep(seconds)  # noqa: SLF001 - as above

    def when_stopped(self, call: Action) -> Callable[[], None]:
        return self.attempt._when_stopped(call)  # noqa: SLF001 - as above


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting, lets the clock move on; for what comes from outside it waits."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(None if timeout is None else 0)
        if not ready and timeout:
            self._clock.advance_to_next(timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """An event loop on the test's clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        super().__init__(_Jumping(clock))

    def time(self) -> float:
        return self._clock.passed_s


def _on_a_loop(called: Coroutine[Any, Any, object], clock: FakeClock) -> object:
    """To the end of a coroutine. A test that is itself async calls in another thread: a loop runs in none twice."""
    loop = _Loop(clock)
    try:
        return loop.run_until_complete(called)
    finally:
        loop.close()
