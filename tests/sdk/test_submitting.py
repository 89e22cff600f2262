"""The name of a call that is submitted under a key is one that the API takes, and its key's alone."""

import re
from typing import Any

import pytest

from tests.sdk.scripted import Asked, Says, problem, scripted
from tickwright_sdk import Client, Context, RetryPolicy, Worker
from tickwright_sdk.submitting import OtherCall, name_of
from tickwright_sdk.terms import terms_body

TAKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")  # as the API says in its refusal


@pytest.mark.sem("SEM-SDK-10")
@pytest.mark.parametrize("key", ["a1-2026-11", "a1 2026", "Grüße", "", "x" * 255, "../..", "\n"])
@pytest.mark.parametrize("handler", ["billing.nightly", "h" * 128])
def test_every_key_makes_a_name(handler: str, key: str) -> None:
    """A key is any text, a name is not."""
    assert TAKEN.fullmatch(name_of(handler, key))


def test_two_keys_make_two_names() -> None:
    """Also where only their hashes tell them apart, and where a name would look like another's hash."""
    keys = ["a", "b", "a b", "a  b", "ä", "ae", "x" * 200, "x" * 201]

    assert len({name_of("billing.nightly", key) for key in keys}) == len(keys)
    assert name_of("billing.nightly", "a1-2026-11") == "billing.nightly/a1-2026-11"


# --- what a call says of its job --------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-SDK-10")
def test_a_call_may_say_of_its_job_what_a_job_says() -> None:
    """Name, secrets, retries, time and priority, as the API has them."""
    with scripted() as server, Client(server.url, "tw_key") as client:
        server.otherwise = lambda _: Says(status=201, body={"jobId": "j"})
        worker = Worker(pool="billing", client=client)

        @worker.job("bill")
        def bill(_payload: dict[str, str], _ctx: Context) -> None: ...

        bill.submit(
            {"card": "4111"},
            name="nightly",
            secrets=["/payload/card"],
            retry_policy=RetryPolicy(max_attempts=5, initial_s=30, give_up_on=["Closed"]),
            timeout_s=600,
            priority="high",
        )

    [asked] = server.asked
    assert {name: asked.body[name] for name in ("name", "secrets", "timeoutSec", "priority")} == {
        "name": "nightly",
        "secrets": ["/payload/card"],
        "timeoutSec": 600,
        "priority": "high",
    }
    assert asked.body["retryPolicy"] == {
        "maxAttempts": 5,
        "backoff": {"initialSec": 30, "factor": 2, "maxSec": 3600, "jitter": "full"},
        "retryOn": [],
        "giveUpOn": ["Closed"],
    }


def test_what_a_call_cannot_say_is_refused_before_it_is_sent() -> None:
    """A typing error that is silently ignored is a job that silently runs otherwise."""
    with pytest.raises(TypeError, match=r"takes no timeout; it takes .*timeout_s"):
        terms_body({"timeout": 1})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ValueError, match=r"high, normal, low, not 'urgent'"):
        terms_body({"priority": "urgent"})  # type: ignore[typeddict-item]


@pytest.mark.parametrize(("amount", "is_same"), [(1, True), (2, False)])
def test_a_key_that_was_used_before_finds_its_job_also_where_its_secrets_are_masked(
    amount: int, *, is_same: bool
) -> None:
    """The answer has a mask in their place: the rest tells whether it is the same call."""
    stored: dict[str, Any] = {}

    def answer(asked: Asked) -> Says:
        if asked.method == "POST":
            stored.update(asked.body | {"jobId": "j", "payload": {"card": "***", "amount": 1}})
            return problem(409, "idempotency_key_reused")
        return Says(body={"jobs": [stored], "nextToken": None} if "?" in asked.path else stored)

    with scripted() as server, Client(server.url, "tw_key") as client:
        server.otherwise = answer
        worker = Worker(pool="billing", client=client)

        @worker.job("bill")
        def bill(_payload: dict[str, Any], _ctx: Context) -> None: ...

        def again() -> str:
            return bill.submit({"card": "4111", "amount": amount}, key="a", secrets=["/payload/card"]).job_id

        if is_same:
            assert again() == "j"
        else:
            with pytest.raises(OtherCall):
                again()
