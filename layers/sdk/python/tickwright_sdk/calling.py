"""One way to call user code, whoever calls: a plain function in a thread or a child, an async one on a loop.

Must not know leases. What it returns or raises becomes a Result, whatever it is: one job's exit() must not end the
worker of all. Promises: SEM-TARGET-4, SEM-SDK-2.
"""

import asyncio
from typing import Any

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import AnyJob
from tickwright_sdk.payloads import BadHint, BadPayload
from tickwright_sdk.results import Failed, Result, broke_off, ended


def called(
    job: AnyJob, payload: str, context: Context, *, lets_through: tuple[type[BaseException], ...] = ()
) -> Result:
    """Call a plain handler; raises nothing but what it lets through."""
    try:
        value = _read(job, payload)
        return value if isinstance(value, Failed) else ended(job.fn(value, context))
    except lets_through:
        raise
    except BaseException as raised:  # noqa: BLE001 - also SystemExit
        return broke_off(raised)


async def awaited(
    job: AnyJob, payload: str, context: Context, *, lets_through: tuple[type[BaseException], ...] = ()
) -> Result:
    """Call an async handler; raises nothing but its cancellation, and what it lets through."""
    try:
        value = _read(job, payload)
        return value if isinstance(value, Failed) else ended(await job.fn(value, context))
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except lets_through:
        raise
    except BaseException as raised:  # noqa: BLE001 - as above
        return broke_off(raised)


def _read(job: AnyJob, payload: str) -> Any:  # noqa: ANN401 - what the handler asks for, or why it cannot be had
    """Read the payload. What does not fit will not fit the next time either."""
    try:
        return job.shape.read(payload)
    except (BadPayload, BadHint) as fault:
        return Failed(error_class=type(fault).__name__, message=str(fault), fatal=True)
