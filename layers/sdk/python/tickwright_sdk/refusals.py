"""Why a worker cannot work as it is set up: one line that says what is wrong and what to do.

Must not know how a claim is sent. Where nobody answers there is nothing to refuse: the API may come up after its
workers. Promise: SEM-SDK-15.
"""

import os
from dataclasses import dataclass

from tickwright_sdk.client import Client
from tickwright_sdk.connection import BadKey
from tickwright_sdk.problems import Forbidden, NoApi, NotFound, Refused, TickwrightError, Unauthenticated, WorkerRefused

URL, KEY = "TICKWRIGHT_URL", "TICKWRIGHT_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where a worker asks to be let in; `is_api`: whether what answers there is the API."""

    url: str
    pool: str
    is_api: bool = True


def refused_at(door: Door, fault: Refused | NoApi) -> WorkerRefused:
    """What a refusal of the very first claim means."""
    if isinstance(fault, NoApi) or not fault.code or not door.is_api:
        return WorkerRefused(f"no Tickwright API answers at {door.url} ({_short(fault)}): is {URL} right?")
    match fault:
        case Unauthenticated():
            does = f"does not know the key: put a valid one into {KEY}"
        case Forbidden():
            does = f"does not let this key claim: it takes one with the scope executions:run in {KEY}"
        case NotFound():
            does = f"has no pool {door.pool!r} for the tenant of this key: make it once with client.put_pool(...)"
        case _:
            does = "refuses the claim"
    return WorkerRefused(f"the API at {door.url} {does} ({_short(fault)})")


def client_from_environment() -> Client:
    """The client that the environment names; raises a WorkerRefused for what is missing or cannot be."""
    url, key = (_set(name) for name in (URL, KEY))
    try:
        return Client(url, key)
    except BadKey as fault:
        raise WorkerRefused(f"{KEY}: {fault}") from None
    except ValueError as fault:
        raise WorkerRefused(f"{URL}: {fault}") from None


def _set(name: str) -> str:
    text = os.environ.get(name)
    if not text:
        raise WorkerRefused(f"{name} is not set: set it, or make the worker with client=...")
    return text


def _short(fault: TickwrightError) -> str:
    return " ".join(str(fault).split())[:300]
