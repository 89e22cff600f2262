"""What the code of the jobs does.

Handlers that do as the job's payload says, and write down what they did before they answer. A result names the epoch
of its own attempt, so that one accepted from a zombie shows itself. Must not know the store.
"""

import asyncio
import ctypes
import secrets
import time
from collections.abc import Mapping
from typing import Any

from tests.chaos.evidence import Diary, Witness
from tickwright_sdk import Context, Fatal, Registry, RetryLater

LATER_S = 0.3
_KEEPING_THE_INTERPRETER = ctypes.PyDLL(None)  # whose calls, unlike those of CDLL, let no other thread go on
Does = Mapping[str, Any]


class MadeToFail(Exception):  # noqa: N818 - a state of the job, named as one
    """The job was told to fail in this attempt."""


def registry(diary: Diary, member: str) -> Registry:
    """The handlers of one worker."""
    handlers = Registry()

    @handlers.job("wait")
    async def wait(does: Does, context: Context) -> object:
        """Code that can be stopped: it is cut off where it waits."""
        witness = Witness(diary, context, member)
        witness.start(does)
        try:
            await asyncio.sleep(_ms(does, context) / 1_000)
        except asyncio.CancelledError:
            witness.end("cut")
            raise
        return _conclude(witness, does, context)

    @handlers.job("deaf")
    def deaf(does: Does, context: Context) -> object:
        """Code in a thread: it goes on to its end, whatever it is told."""
        witness = Witness(diary, context, member)
        witness.start(does)
        time.sleep(does["ms"] / 1_000)
        return _conclude(witness, does, context)

    @handlers.job("hog")
    async def hog(does: Does, context: Context) -> object:
        """Code in C that keeps the interpreter: it holds up every thread of its process, and so all heartbeats."""
        witness = Witness(diary, context, member)
        witness.start(does)
        _KEEPING_THE_INTERPRETER.usleep(1_000 * _ms(does, context))
        return _conclude(witness, does, context)

    return handlers


def _ms(does: Does, context: Context) -> int:
    first = context.attempt == 1
    return int(does.get("firstMs", does["ms"]) if first else does["ms"])


def _conclude(witness: Witness, does: Does, context: Context) -> object:
    """The end that the payload asks for, written down before it is answered."""
    if does.get("ends") == "fatal":
        witness.end("fatal")
        raise Fatal("The job was made to die.")
    if context.lease_epoch < does.get("laterUntil", 0):
        witness.end("later")
        raise RetryLater(LATER_S)
    if context.attempt < does.get("failsUntil", 0):
        witness.end("failure")
        raise MadeToFail(f"Attempt {context.attempt} was made to fail.")
    mark = secrets.token_hex(8)
    witness.end("success", mark)
    return {"leaseEpoch": context.lease_epoch, "mark": mark}
