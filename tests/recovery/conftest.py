"""Both stores in virtual time: what a real engine is asked for takes none of it."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor
from typing import TypeVar

import pytest
import pytest_asyncio

from tests.recovery.places import Installations, embedded, on_dynamodb
from tests.support.clocks import VirtualLoop
from tests.support.emulators import Emulator

AnswerT = TypeVar("AnswerT")


class CallsAtOnce(VirtualLoop):
    """A virtual loop that does in its own thread what it is asked to do in another: no time passes meanwhile."""

    def run_in_executor(
        self, executor: Executor | None, func: Callable[..., AnswerT], *args: object
    ) -> "asyncio.Future[AnswerT]":
        """Do it now."""
        assert executor is not None
        done: asyncio.Future[AnswerT] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as fault:  # noqa: BLE001 - it is the caller's, as from a thread
            done.set_exception(fault)
        return done


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Time jumps: no test of the folder waits."""
    return {"virtual": CallsAtOnce}


@pytest_asyncio.fixture(params=["embedded", pytest.param("dynamodb_local", marks=pytest.mark.slow)])
async def installations(request: pytest.FixtureRequest) -> AsyncIterator[Installations]:
    """Two installations: the second stands on nothing, or on a copy."""
    if request.param == "embedded":
        async with embedded() as made:
            yield made
    else:
        engine: Emulator = request.getfixturevalue("dynamodb_local")
        async with on_dynamodb(engine.endpoint) as made:
            yield made
