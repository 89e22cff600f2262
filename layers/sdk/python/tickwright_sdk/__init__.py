"""Workers for Tickwright: handlers that are called at their time, wherever the worker runs.

What is imported from here is what users are promised; the modules may change. Must not import anything of the product.
"""

from typing import TYPE_CHECKING, Any

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import HandlerRefused, Job, Registry, Submitted
from tickwright_sdk.problems import WorkerRefused
from tickwright_sdk.results import Fatal, RetryLater
from tickwright_sdk.worker import Worker

if TYPE_CHECKING:
    from tickwright_sdk.client import Client

__all__ = [
    "Client",
    "Context",
    "Fatal",
    "HandlerRefused",
    "Job",
    "Registry",
    "RetryLater",
    "Submitted",
    "Worker",
    "WorkerRefused",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attribute
    """Load the client when it is asked for: it takes a third of a second, and a child needs none."""
    if name == "Client":
        from tickwright_sdk.client import Client  # noqa: PLC0415 - as said

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
