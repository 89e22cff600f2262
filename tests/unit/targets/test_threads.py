"""How many threads may a tenant's calls hold, those among them that nobody waits for any more?"""

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.support.builders import TENANT
from tickwright.adapters.targets.threads import CallThreads
from tickwright.domain.ids import TenantId

PLACES = 3


@pytest.fixture
def threads() -> Iterator[CallThreads]:
    """Of a worker with three places: six a tenant, and eighteen in all."""
    made = CallThreads(PLACES, "call")
    yield made
    made.close()


def held_by(threads: CallThreads, tenant: str, until: threading.Event) -> list[Future[bool]]:
    """As many calls that go on as the tenant may have."""
    begun: list[Future[bool]] = []
    while (one := threads.begin(TenantId(tenant), lambda: until.wait(10))) is not None:
        begun.append(one)
    return begun


@pytest.mark.sem("SEM-TARGET-12")
def test_two_tenants_that_hold_all_they_may_leave_a_third_twice_its_places(threads: CallThreads) -> None:
    """What a tenant itself may hold is as much: its places, and as many calls that it had left."""
    until = threading.Event()
    held = {tenant: held_by(threads, tenant, until) for tenant in ("a", "b", "c", "d")}
    until.set()

    assert {tenant: len(begun) for tenant, begun in held.items()} == {"a": 6, "b": 6, "c": 6, "d": 0}
    assert all(one.result(10) for begun in held.values() for one in begun)


@pytest.mark.sem("SEM-TARGET-12")
@pytest.mark.parametrize("ends_well", [True, False], ids=["answered", "broken"])
def test_a_thread_whose_call_has_ended_is_its_tenants_again(threads: CallThreads, *, ends_well: bool) -> None:
    """However it has ended."""
    until, ended = threading.Event(), threading.Semaphore(0)

    def call() -> None:
        until.wait(10)
        assert ends_well

    for _ in range(2 * PLACES):
        begun = threads.begin(TENANT, call)
        assert begun is not None
        begun.add_done_callback(lambda _: ended.release())
    full = threads.begin(TENANT, call)
    until.set()
    assert all(ended.acquire(timeout=10) for _ in range(2 * PLACES))
    again = [threads.begin(TENANT, call) for _ in range(2 * PLACES)]

    assert full is None
    assert None not in again
