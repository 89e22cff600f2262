"""Workers for Tickwright: handlers that are called at their time, wherever the worker runs.

What is imported from here is what users are promised; the modules may change. Must not import anything of the product.
"""

import importlib
from typing import TYPE_CHECKING, Any

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import HandlerRefused, Job, Registry, Submitted
from tickwright_sdk.problems import WorkerRefused
from tickwright_sdk.results import Fatal, RetryLater
from tickwright_sdk.terms import RetryPolicy
from tickwright_sdk.worker import Worker

if TYPE_CHECKING:
    from tickwright_sdk.client import Client
    from tickwright_sdk.dead_letters import Canary, Dead

__all__ = [
    "Canary",
    "Client",
    "Context",
    "Dead",
    "Fatal",
    "HandlerRefused",
    "Job",
    "Registry",
    "RetryLater",
    "RetryPolicy",
    "Submitted",
    "Worker",
    "WorkerRefused",
]


_LATE = {"Client": "client", "Canary": "dead_letters", "Dead": "dead_letters"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attribute
    """Load what needs a connection when it is asked for: that takes a third of a second, and a child needs none."""
    if name in _LATE:
        return getattr(importlib.import_module(f"tickwright_sdk.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
