"""Scale-in protection, asked of the ECS agent beside the container.

Must not know runs. The agent answers 200 to requests that ECS has refused: the body is judged, not the status. Its
address is link-local and given by ECS, so the doors that keep tenants' targets from such addresses are not used here.
"""

import asyncio
import json
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

_PATH = "/task-protection/v1/state"
# The agent asks ECS, and repeats by itself what was throttled.
_TIMEOUT = Timeout(connect=1.0, read=10.0)
_ANSWER_BYTES_MAX = 16_384
_DETAIL_CHARS_MAX = 200


class EcsProtection:
    """The container's own protection, through the endpoint of its agent."""

    def __init__(self, agent_uri: str) -> None:
        """`agent_uri` is what ECS puts into ECS_AGENT_URI."""
        self._url = agent_uri.rstrip("/") + _PATH
        self._pool = urllib3.PoolManager(num_pools=1, maxsize=1, retries=False, timeout=_TIMEOUT)

    async def protect(self, minutes: int) -> str | None:
        """Ask not to be scaled in; every request counts the minutes anew."""
        return await self._ask({"ProtectionEnabled": True, "ExpiresInMinutes": minutes})

    async def let_go(self) -> str | None:
        """Take the protection away."""
        return await self._ask({"ProtectionEnabled": False})

    async def _ask(self, body: dict[str, Any]) -> str | None:
        return await asyncio.to_thread(self._put, body)

    def _put(self, body: dict[str, Any]) -> str | None:
        try:
            response = self._pool.request("PUT", self._url, json=body, redirect=False, preload_content=False)
            try:
                said = response.read(_ANSWER_BYTES_MAX)
            finally:
                response.release_conn()
        except (HTTPError, OSError) as fault:
            return f"no answer: {type(fault).__name__}"
        return refusal_in(said, is_asked_for=bool(body["ProtectionEnabled"]))


def refusal_in(said: bytes, *, is_asked_for: bool) -> str | None:
    """What an answer of the agent says against the request; None if it says that the protection is as asked for."""
    try:
        answer = json.loads(said)
    except ValueError:
        return f"not JSON: {said[:_DETAIL_CHARS_MAX]!r}"
    match answer:
        case {"failure": {"Reason": str(reason), **rest}}:
            return _short(reason, rest.get("Detail"))
        case {"error": {"Code": str(code), **rest}}:
            return _short(code, rest.get("Message"))
        case {"protection": {"ProtectionEnabled": bool(enabled)}} if enabled is is_asked_for:
            return None
        case _:
            return _short("unexpected", json.dumps(answer))


def _short(reason: str, detail: object) -> str:
    return f"{reason}: {detail}"[:_DETAIL_CHARS_MAX] if detail else reason
