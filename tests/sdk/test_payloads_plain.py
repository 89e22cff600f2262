"""Plain hints alone, imported where there is no pydantic."""

import json
from typing import Any

from tests.sdk.links import a_context
from tickwright_sdk import Context, Registry
from tickwright_sdk.calling import called
from tickwright_sdk.results import Succeeded


def read_all() -> None:
    """Every plain hint with a payload that fits."""
    registry = Registry()

    @registry.job("dict")
    def of_dict(payload: dict[str, Any], _ctx: Context) -> object:
        return payload

    @registry.job("int")
    def of_int(payload: int, _ctx: Context) -> object:
        return payload

    @registry.job("any")
    def of_any(payload: Any, _ctx: Context) -> object:  # noqa: ANN401 - any
        return payload

    payloads: list[tuple[str, object]] = [("dict", {"a": 1}), ("int", 3), ("any", None)]
    for name, payload in payloads:
        job = registry.named(name)
        assert job is not None
        assert isinstance(called(job, json.dumps(payload), a_context()), Succeeded)


def test_plain_hints_are_read() -> None:
    """Also with pydantic about."""
    read_all()
