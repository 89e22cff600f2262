"""A worker that pulls is told that there is no room for its claim: by the product (429), or by the door (503)."""

import logging
import time
from collections.abc import Iterator

import pytest

from tests.sdk.pool import Pool, a_claim, a_pool
from tests.sdk.scripted import Asked, Says, problem
from tests.sdk.test_pull import pulling, until


@pytest.fixture
def pool() -> Iterator[Pool]:
    """A pool with one run in it."""
    with a_pool(a_claim()) as one:
        yield one


@pytest.mark.sem("SEM-POOL-5", "SEM-SDK-10")
@pytest.mark.parametrize(("status", "code"), [(429, "too_many_claims"), (503, "unavailable")])
async def test_a_worker_that_finds_no_room_asks_again_after_as_long_as_it_is_told(
    pool: Pool, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where that is the first thing it ever hears: it has made no mistake. Its claim keeps its requestId.

    That others of its tenant wait is no news to whoever reads its log.
    """
    heard_s: list[float] = []

    def refuses_once(_: Asked) -> Says | None:
        heard_s.append(time.monotonic())
        return problem(status, code, retryable=True, Retry_After="1") if len(heard_s) == 1 else None

    pool.claims = refuses_once
    caplog.set_level(logging.INFO, logger="tickwright.worker")
    async with pulling(pool, lambda payload, _: payload):
        await until(pool.reports)

    first, second, *_ = pool.told("claim")
    assert heard_s[1] - heard_s[0] >= 1
    assert first.body["requestId"] == second.body["requestId"]
    assert [kind for _, kind, _ in pool.reports()] == ["complete"]
    assert (code in caplog.text) == (code == "unavailable")
