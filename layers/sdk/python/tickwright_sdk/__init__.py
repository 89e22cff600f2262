"""Workers for Tickwright: handlers that are called at their time, wherever the worker runs.

What is imported from here is what users are promised; the modules may change. Must not import anything of the product.
"""

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import HandlerRefused, Job, Registry, Submitted
from tickwright_sdk.results import Fatal, RetryLater

__all__ = ["Context", "Fatal", "HandlerRefused", "Job", "Registry", "RetryLater", "Submitted"]
