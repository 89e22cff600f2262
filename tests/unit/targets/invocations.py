"""An invocation that shows only what matters: a target, a payload, how much time is left."""

import asyncio
from dataclasses import replace

from tests.support.builders import TICK, an_execution
from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.executions import Noted
from tickwright.domain.ids import Epoch, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, JobSpec, Target
from tickwright.domain.logs import LogTail
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation


def an_invocation(
    target: Target,
    *,
    payload: str = "null",
    left_ms: int = 5_000,
    stop: asyncio.Event | None = None,
    noted: Noted | None = None,
) -> Invocation:
    """The first attempt of a tick's execution, with so much time left."""
    execution = an_execution(state=State.RUNNING, noted=noted)
    stopping = stop or asyncio.Event()

    async def stopped() -> None:
        await stopping.wait()

    async def beat(_noted: Noted | None) -> bool:
        return not stopping.is_set()

    return Invocation(
        execution=execution,
        definition=Definition(
            job_id=execution.job_id,
            version=1,
            tenant_id=execution.tenant_id,
            created_at=TICK,
            spec=JobSpec(schedule='{"r":0}', source={}, target=target, payload=payload),
        ),
        epoch=Epoch(execution.lease_epoch),
        deadline_at=Instant(SystemClock().now() + left_ms),
        cancelled=stopping.is_set,
        wait_cancelled=stopped,
        beat=beat,
        log=LogTail(),
    )


def of_tenant(invocation: Invocation, tenant_id: TenantId) -> Invocation:
    """The same of another tenant's job."""
    return replace(invocation, definition=replace(invocation.definition, tenant_id=tenant_id))
