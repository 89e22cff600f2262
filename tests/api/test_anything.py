"""Whatever is sent: an answer that the document allows, and never a fault of ours."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.client import A_JOB, Client
from tests.api.conftest import PAGE_SECRET, a_client
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.api.call import Api
from tickwright.api.job_bodies import JobBody
from tickwright.api.routes import ROUTES
from tickwright.domain.tenants import Scope
from tickwright.wiring.embedded import embedded_kit

NAMES = st.sampled_from(sorted(field.alias or name for name, field in JobBody.model_fields.items()))
INNER = st.sampled_from(
    ["type", "url", "handler", "headers", "mode", "windowSec", "maxAttempts", "backoff", "initialSec", "jitter",
     "runAt", "cron", "every", "phase", "timezone", "dst", "gap", "startAt", "endAt", "maxRuns", "retryOn", "x"]
)  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(
        ["http", "python", "http://[::1", "https://a@b/", "* * * * *", "H H * * *", "PT5M", "UTC", "skip", "all"]
    ),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(INNER | st.text(max_size=8), inner, max_size=4)
)
JOBS = st.builds(lambda changes: A_JOB | changes, st.dictionaries(NAMES | st.text(max_size=8), VALUES, max_size=3))
HEADERS = st.dictionaries(
    st.sampled_from(["if_match", "if_none_match", "idempotency_key", "content_type", "authorization", "x_request_id"]),
    st.text(max_size=20) | st.sampled_from(["*", '"1"', "k", "application/json", "Bearer tw_x"]),
    max_size=2,
)
PATHS = st.sampled_from(sorted({route.path for route in ROUTES})) | st.text(max_size=30)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "X"])
pytestmark = pytest.mark.slow
often = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@pytest.fixture
def world() -> Iterator[tuple[asyncio.Runner, Client]]:
    """A caller and the loop that it lives in: Hypothesis calls from outside of one."""
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        kit = runner.run(stack.enter_async_context(embedded_kit(None, MemoryTelemetry(), buckets=2)))
        client = runner.run(a_client(Api(kit=kit, page_secret=PAGE_SECRET), "acme", frozenset(Scope)))
        yield runner, client
        runner.run(stack.aclose())


@often
@given(body=JOBS | VALUES)
def test_any_json_is_a_job_or_a_refusal(world: tuple[asyncio.Runner, Client], body: Any) -> None:  # noqa: ANN401
    """What is accepted can be read back, and changed by the patch of nothing."""
    runner, client = world
    raw = json.dumps(body).encode()
    got = runner.run(client.send_raw("POST", "/v1/jobs", raw, idempotency_key=client.api.kit.entropy.token()))

    assert got.status in {201, 400, 409, 413, 422}, got.json
    if got.status == 201:
        path = f"/v1/jobs/{got.json['jobId']}"
        read = runner.run(client.get(path))
        patched = runner.run(client.send("PATCH", path, {}, if_match="*"))
        assert read.json["schedule"] == got.json["schedule"]
        assert patched.status in {200, 409, 412, 422}, patched.json


@often
@given(method=METHODS, path=PATHS, raw=st.binary(max_size=60), headers=HEADERS)
def test_any_request_gets_an_answer_of_the_document(
    world: tuple[asyncio.Runner, Client], method: str, path: str, raw: bytes, headers: dict[str, str]
) -> None:
    """Every answer is checked against openapi.json where it is read (client.py)."""
    runner, client = world
    got = runner.run(client.send_raw(method, path, raw, **headers))

    assert got.status < 500, got.json
