"""The handlers of this test's image, as a platform's team would write them: they tell the test's server what they do.

Knows the SDK and the standard library alone: nothing of the repository's tests is in the image.
"""

import json
import urllib.request
from typing import Any

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import Registry

STEPS_MAX = 3_600
worker = Registry()


def tell(payload: dict[str, Any], ctx: Context, note: object) -> bool:
    """One call of the server, as the function of the tenant makes it; whether the server has had enough."""
    told = {
        "payload": payload,
        "executionId": ctx.execution_id,
        "leaseEpoch": ctx.lease_epoch,
        "attempt": ctx.attempt,
        "note": note,
    }
    asked = urllib.request.Request(payload["server"], data=json.dumps(told).encode(), method="POST")  # noqa: S310 - a URL of this test
    with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310 - the same
        return bool(json.loads(answer.read())["enough"])


@worker.job("deploy.steps")
def steps(payload: dict[str, Any], ctx: Context) -> int:
    """A step a second, each told and then noted, until it is enough: the next attempt goes on behind the last."""
    step: int = ctx.checkpoint or 0
    enough = False
    while not enough:
        enough = tell(payload, ctx, step)
        step += 1
        if ctx.heartbeat(progress=min(step / STEPS_MAX, 1.0), checkpoint=step) or ctx.sleep(1):
            raise ctx.stopped()
    return step


@worker.job("deploy.until-cancelled")
def until_cancelled(payload: dict[str, Any], ctx: Context) -> None:
    """Works until somebody has had enough of it."""
    tell(payload, ctx, "began")
    while not (ctx.heartbeat() or ctx.sleep(0.5)):
        pass
    tell(payload, ctx, ctx.cancel_reason)
    raise ctx.stopped()
