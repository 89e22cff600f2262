"""Bugs put in on purpose, to prove that the checker finds them: `PLANT=no-fence python -m tests.chaos` must fail.

Each replaces one rule of the product in the process that installs it. Never installed in a normal run.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tickwright.adapters.dynamodb.requests import executions as requests
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.domain import ticks
from tickwright.domain.changes import executions
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey
from tickwright.domain.journal import Page
from tickwright.domain.transitions import State
from tickwright.services import change_job, fire, retract


def _no_fence() -> None:
    """A result is taken from whoever brings it."""

    def decide(change: executions.Succeed, old: Execution | None) -> Execution | None:
        if old is None:
            return None
        done = executions.ended(old, State.SUCCEEDED, change.now, change.owed, change.ttl)
        return replace(done, result=change.result, error=None)

    put(executions.Succeed, "decide", decide)
    _no_fence_in_expressions()


def _no_fence_in_expressions() -> None:
    """The same on DynamoDB, where the literal condition decides: it holds for the epoch of every zombie."""
    for how, write in list(requests._SUCCEED.items()):  # noqa: SLF001 - the rule that the plant replaces
        assert write.condition == "#state = :running AND #leaseEpoch = :epoch", "the condition has changed"
        requests._SUCCEED[how] = replace(write, condition="#leaseEpoch >= :epoch")  # noqa: SLF001 - as above


def _two_keys() -> None:
    """Each process that inserts a tick's execution does so under a key of its own."""
    insert = ticks.execution_of

    def execution_of(*given: Any, **named: Any) -> Execution:  # noqa: ANN401 - whatever it takes
        born = insert(*given, **named)
        return replace(born, key=ExecutionKey(f"{born.key}#M#{SystemEntropy().token()}"))

    put(fire, "execution_of", execution_of)
    put(retract, "execution_of", execution_of)


def _claim_anyway() -> None:
    """A claim does not ask whether the lease of another is over."""
    claim = executions.Claim.decide

    def decide(change: executions.Claim, old: Execution | None) -> Execution | None:
        if old is None or old.state is not State.RUNNING:
            return claim(change, old)
        return claim(change, replace(old, lease_until=None, deadline_at=None, state=State.QUEUED))

    put(executions.Claim, "decide", decide)


def _no_retract() -> None:
    """A cancel and a pause write the head and leave what was decided alone."""

    async def nothing(*given: object, **named: object) -> None: ...

    put(change_job, "retract", nothing)


def _no_journal() -> None:
    """Nothing is written down before it is set in motion."""

    async def put_page(store: object, page: Page) -> None: ...

    put(EmbeddedStore, "put_page", put_page)
    put(DynamoDbStore, "put_page", put_page)


def put(place: object, name: str, bug: Callable[..., object]) -> None:
    assert hasattr(place, name), f"the rule that the plant replaces is gone: {name}"
    setattr(place, name, bug)


PLANTS: Mapping[str, Callable[[], None]] = {
    "no-fence": _no_fence,
    "two-keys": _two_keys,
    "claim-anyway": _claim_anyway,
    "no-retract": _no_retract,
    "no-journal": _no_journal,
}
# What stands in the domain's `decide` alone: on DynamoDB the literal condition decides.
NOT_ON_AWS = frozenset({"claim-anyway"})


def install(name: str) -> None:
    """Put one bug in; an empty name is none."""
    if name:
        PLANTS[name]()
