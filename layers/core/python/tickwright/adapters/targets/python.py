"""Runs an attempt as a Python function of the worker's registry, by the hands of the SDK: one way to call user code.

Must not know leases, nor how a handler is called. What the SDK says of a call is said again in the domain's words.
Promises: SEM-TARGET-4, SEM-TARGET-5.
"""

import asyncio
from typing import assert_never

from tickwright.domain import attempts
from tickwright.domain.allowed_targets import EVERY_HANDLER, AllowedTargets
from tickwright.domain.attempts import NotRun, UserResult, an_error
from tickwright.domain.executions import Noted
from tickwright.domain.instants import to_datetime
from tickwright.domain.suspects import is_suspect
from tickwright.ports.runner import GoesOn, Invocation, StopReason
from tickwright_sdk.context import Context, Link, checkpoint_of
from tickwright_sdk.engine_link import EngineLink, Note
from tickwright_sdk.handlers import Registry
from tickwright_sdk.hands import THREADS, Hands, NoRoom
from tickwright_sdk.results import LATER_CLASS, Failed, Later, Result, Succeeded

_NO_ROOM_S = 5.0  # another worker, or this one by then, has a place


class PythonRunner:
    """The target kind `python`."""

    def __init__(
        self,
        registry: Registry,
        *,
        hands: Hands | None = None,
        threads: int = THREADS,
        allowed: AllowedTargets = EVERY_HANDLER,
    ) -> None:
        """By these hands, or by ones of its own with so many threads.

        `allowed` is asked again at each attempt, since it may be shorter than it was when the job was accepted.
        """
        self._registry = registry
        self._allowed = allowed
        self._hands = hands or Hands(threads=threads)

    async def run(self, invocation: Invocation) -> UserResult | GoesOn:
        """Call the handler once."""
        target = invocation.definition.spec.target
        if refused := self._allowed.problems(invocation.definition.tenant_id, target):
            return attempts.Fatal(error=an_error("TargetNotAllowed", refused[0].message))
        name = str(target.settings["handler"])
        job = self._registry.named(name)
        if job is None:
            known = ", ".join(self._registry.names()) or "none"
            message = f"This worker has no handler {name!r}; it has: {known}."
            # Another worker may have it: while a release rolls out, they differ.
            return attempts.Failure(error=an_error("UnknownHandler", message))
        link, alone = _link_of(invocation), is_suspect(invocation.execution)
        told = asyncio.create_task(_tell(invocation, link))
        try:
            context = _context(invocation, link)
            payload, share = invocation.definition.spec.payload, invocation.execution.lane.value
            said = _said(await self._hands.call(job, payload, context, share=share, alone=alone))
            # What broke off for the worker's sake is no failure of its own.
            broke_off = isinstance(said, attempts.Failure) and link.reason == StopReason.DRAINING
            return NotRun() if broke_off else said
        except asyncio.CancelledError:
            if self._hands.outlives(job, alone=alone):
                return GoesOn()
            raise
        finally:
            told.cancel()
            await link.finish()

    def close(self) -> None:
        """Let the threads go; those that work end when their code does."""
        self._hands.leave()


def _link_of(invocation: Invocation) -> EngineLink:
    async def beat(note: Note) -> bool:
        return await invocation.beat(Noted(progress=note.progress, checkpoint=note.checkpoint))

    return EngineLink(beat, lambda line: invocation.log.write(f"{line}\n"))


async def _tell(invocation: Invocation, link: EngineLink) -> None:
    """Tell the handler once it should stop."""
    await invocation.wait_cancelled()
    link.stop(invocation.cancel_reason() or StopReason.CANCELLED)


def _context(invocation: Invocation, link: Link) -> Context:
    execution, spec = invocation.execution, invocation.definition.spec
    return Context(
        execution_id=execution.ref.id,
        job_id=execution.job_id,
        job_name=spec.name,
        tenant_id=execution.tenant_id,
        lease_epoch=invocation.epoch,
        attempt=execution.attempt,
        max_attempts=execution.max_attempts,
        scheduled_time=to_datetime(execution.scheduled_at),
        deadline=to_datetime(invocation.deadline_at),
        checkpoint=checkpoint_of(None if execution.noted is None else execution.noted.checkpoint),
        link=link,
    )


def _said(answer: Result | NoRoom) -> UserResult:
    match answer:
        case Succeeded(result=result):
            return attempts.Success(result=result)
        case Failed(fatal=True):
            return attempts.Fatal(error=an_error(answer.error_class, answer.message, answer.trace))
        case Failed():
            return attempts.Failure(error=an_error(answer.error_class, answer.message, answer.trace))
        case Later(after_s=after_s, message=message):
            return attempts.RetryLater(after_s=after_s, error=an_error(LATER_CLASS, message) if message else None)
        case NoRoom():
            return NotRun(after_s=_NO_ROOM_S)
        case _:
            assert_never(answer)
