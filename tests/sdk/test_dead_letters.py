"""Can a program do with its dead letters and pools what a person can? Asked of the product itself, over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.sdk.product import Product, a_product
from tests.sdk.test_workers_page import SNIPPETS
from tickwright_sdk import Canary, Dead
from tickwright_sdk.problems import Conflict, NotFound

ONCE = {"retryPolicy": {"maxAttempts": 1}}


@pytest.fixture
async def product() -> AsyncIterator[Product]:
    """The product, with a pool and no worker."""
    async with a_product() as one:
        yield one


async def dies(product: Product, error_class: str, payload: object = None) -> str:
    """A run of its own job that a machine claims, and that is dead then; its id."""
    execution = await product.run_now("gpu", payload, **ONCE)
    failed = {"kind": "fatal", "error": {"class": error_class, "message": "as it must"}}
    assert (await ends(product, failed))["executionId"] == execution
    await product.until(execution, "DEAD")
    return execution


async def ends(product: Product, failed: dict[str, Any] | None = None) -> dict[str, Any]:
    """A machine claims the next run and says how it ended: well, unless it failed; what it was given."""
    asked = {"workerId": "w", "max": 1, "waitSec": 10}
    [claim] = (await product.ask(lambda: product.client.claim("gpu", asked, read_s=30)))["executions"]
    execution, epoch = claim["executionId"], {"leaseEpoch": claim["leaseEpoch"]}
    if failed is None:
        await product.ask(lambda: product.client.complete(execution, epoch))
    else:
        await product.ask(lambda: product.client.fail(execution, epoch | failed))
    found: dict[str, Any] = claim
    return found


@pytest.mark.sem("SEM-SDK-16")
async def test_the_dead_are_found_grouped_and_looked_at(product: Product) -> None:
    """By what they died of, by their job and by when; one with what it was given."""
    letters = product.client.dead_letters
    first = await dies(product, "DbError", {"month": 11})
    second = await dies(product, "OtherError")
    job_id = (await product.ask(lambda: product.client.execution(first)))["jobId"]
    soon = datetime.now(UTC) + timedelta(hours=1)

    async def found(which: Dead) -> list[str]:
        return [one["execution"]["executionId"] for one in await product.ask(lambda: list(letters.find(which)))]

    groups = await product.ask(letters.groups)
    one = await product.ask(lambda: letters.get(first))

    assert await found(Dead()) == [second, first]
    assert await found(Dead(error_class="DbError")) == await found(Dead(job_id=job_id)) == [first]
    assert first in await found(Dead(reason="fatal"))
    assert await found(Dead(reason="expired")) == []
    assert await found(Dead(fingerprint=one["fingerprint"], until=soon)) == [first]
    assert await found(Dead(since=soon)) == []
    assert sorted(group["class"] for group in groups["groups"]) == ["DbError", "OtherError"]
    assert (await product.ask(lambda: letters.groups(limit=1)))["groupsInAll"] == 2
    assert (one["execution"]["executionId"], one["payload"]) == (first, {"month": 11})
    with pytest.raises(NotFound):
        await product.ask(lambda: letters.get("no-such-execution"))


@pytest.mark.sem("SEM-SDK-16")
async def test_an_order_is_counted_given_followed_and_obeyed(product: Product) -> None:
    """With a canary that passes: everything of the filter runs again, and nothing else."""
    letters = product.client.dead_letters
    dead = [await dies(product, "DbError") for _ in range(2)]
    other = await dies(product, "OtherError")
    which = Dead(error_class="DbError")

    would = await product.ask(lambda: letters.would_redrive(which))
    give = partial(letters.redrive, which, rate_per_min=600, canary=Canary(first=1), idempotency_key="order-1")
    order = await product.ask(give)
    again = await product.ask(give)
    ended = [(await ends(product))["executionId"] for _ in dead]
    await _until_status(product, order["orderId"], "DONE")

    done = await product.ask(lambda: letters.order(order["orderId"]))
    assert (would["count"], would["truncated"]) == (2, False)
    assert sorted(ended) == sorted(dead)
    assert again["orderId"] == order["orderId"]
    assert (order["ratePerMin"], order["canary"]["first"]) == (600, 1)
    assert (done["redriven"], done["canary"]["passed"]) == (2, True)
    assert (await product.ask(lambda: product.client.execution(other)))["status"] == "DEAD"
    assert [one["orderId"] for one in await product.ask(letters.orders)] == [order["orderId"]]


@pytest.mark.sem("SEM-SDK-16")
async def test_an_order_is_cancelled(product: Product) -> None:
    """Once that is answered it redrives nothing more; a second time it is answered alike."""
    letters = product.client.dead_letters
    dead = [await dies(product, "DbError") for _ in range(2)]
    order = await product.ask(lambda: letters.redrive(Dead(everything=True), rate_per_min=1))

    cancelled = await product.ask(lambda: letters.cancel_order(order["orderId"]))

    assert cancelled["status"] == "CANCELLED"
    assert cancelled["redriven"] < len(dead)
    assert await product.ask(letters.orders) == [cancelled]
    assert await product.ask(lambda: letters.cancel_order(order["orderId"])) == cancelled


@pytest.mark.sem("SEM-SDK-16")
async def test_the_snippet_of_the_page_gives_its_order(product: Product) -> None:
    """Nothing where nothing is dead; else an order with its canary."""
    [snippet] = [one for one in SNIPPETS if "would_redrive" in one]
    module: dict[str, Any] = {}
    exec(snippet, module)  # noqa: S102 - a page of the repository
    redrive = partial(module["redrive_the_outage"], product.client)

    before = await product.ask(redrive)
    await dies(product, "DbError")
    order = await product.ask(lambda: product.client.dead_letters.order(redrive()))

    assert before is None
    assert (order["filter"]["errorClass"], order["canary"]["first"]) == ("DbError", 3)


@pytest.mark.sem("SEM-SDK-16")
async def test_what_names_nothing_means_all_only_where_it_says_so(product: Product) -> None:
    """A filter that came out empty by mistake redrives and discards nothing."""
    letters = product.client.dead_letters
    for bulk in (letters.redrive, letters.would_redrive, partial(letters.discard_found, reason="a mistake")):
        with pytest.raises(ValueError, match=r"everything=True"):
            await product.ask(partial(bulk, Dead()))

    assert (await product.ask(lambda: letters.would_discard(Dead(everything=True))))["count"] == 0


@pytest.mark.sem("SEM-SDK-16")
async def test_one_is_redriven_and_others_are_discarded(product: Product) -> None:
    """By name with an outcome each, and by a filter that was counted first."""
    letters = product.client.dead_letters
    redriven, named, filtered = [await dies(product, error) for error in ("AError", "BError", "CError")]

    await product.ask(lambda: product.client.redrive(redriven))
    would = await product.ask(lambda: letters.would_discard(Dead(error_class="CError")))
    by_name = await product.ask(lambda: letters.discard([named, redriven], reason="not wanted"))
    by_filter = await product.ask(lambda: letters.discard_found(Dead(error_class="CError"), reason="not wanted"))

    assert would["count"] == 1
    assert [outcome["status"] for outcome in by_name["outcomes"]] == [200, 409]
    assert (by_filter["discarded"], by_filter["more"]) == (1, False)
    assert (await product.ask(lambda: product.client.execution(filtered)))["discarded"]["reason"] == "not wanted"
    assert (await ends(product))["executionId"] == redriven


@pytest.mark.sem("SEM-SDK-16")
@pytest.mark.parametrize(
    ("given", "expected"),
    [({"patch": {"month": 12}}, {"month": 12, "year": 2026}), ({"payload": [1]}, [1]), ({"payload": None}, None)],
)
async def test_one_runs_again_with_another_payload(product: Product, given: dict[str, Any], expected: object) -> None:
    """A new run, once for a key; the dead one is given up for it."""
    letters = product.client.dead_letters
    dead = await dies(product, "BadMonth", {"month": 13, "year": 2026})
    run = partial(letters.rerun, dead, **given, reason="the month was wrong", idempotency_key="rerun-1")

    new = await product.ask(run)
    again = await product.ask(run)
    claim = await ends(product)

    assert (new["rerunOf"], again["executionId"], claim["payload"]) == (dead, claim["executionId"], expected)
    assert await product.ask(lambda: list(letters.find())) == []
    with pytest.raises(Conflict):
        await product.ask(lambda: letters.rerun(dead, payload=1))


@pytest.mark.sem("SEM-SDK-16")
async def test_pools_are_put_looked_at_and_listed(product: Product) -> None:
    """By their names."""
    client = product.client
    put = await product.ask(lambda: client.put_pool("cpu", description="cheap ones"))

    assert await product.ask(lambda: client.pool("cpu")) == put
    assert put["description"] == "cheap ones"
    assert [pool["name"] for pool in await product.ask(lambda: list(client.pools()))] == ["cpu", "gpu"]
    with pytest.raises(NotFound):
        await product.ask(lambda: client.pool("other"))


def test_an_instant_without_a_zone_is_refused() -> None:
    """It would mean another hour on another machine."""
    with pytest.raises(ValueError, match="zone"):
        Dead(since=datetime(2026, 11, 30)).query()  # noqa: DTZ001 - what is not to be done


async def _until_status(product: Product, order_id: str, status: str) -> None:
    """Until an order is there."""
    async with asyncio.timeout(60):
        while (  # noqa: ASYNC110 - what another program has done is only to be polled
            await product.ask(lambda: product.client.dead_letters.order(order_id))
        )["status"] != status:
            await asyncio.sleep(0.05)
