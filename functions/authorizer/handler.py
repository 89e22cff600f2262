"""Who is calling: finds the tenant and the scopes of an API key for API Gateway.

While the store does not answer, a key that was good lately opens the door (SEM-STALE-4); any other raises, which API
Gateway answers with a 503 of ours and does not keep.
"""

import asyncio
import os

from tickwright.api.gateway import Event, admission
from tickwright.api.keys import look_up
from tickwright.api.known_keys import KnownKeys
from tickwright.domain.outcomes import Refusal
from tickwright.wiring.aws import kit_from_env

_KIT = kit_from_env(os.environ)
_KNOWN = KnownKeys()
_RUNNER = asyncio.Runner()


class UnauthorizedError(Exception):
    """API Gateway answers 401 to exactly this message, and to no other."""

    def __init__(self) -> None:
        super().__init__("Unauthorized")


def lambda_handler(event: Event, _context: object) -> dict[str, object]:
    """Admit the key's tenant, or refuse."""
    caller = _RUNNER.run(look_up(_KIT, event.get("authorizationToken"), _KNOWN))
    if isinstance(caller, Refusal):
        raise UnauthorizedError
    return admission(caller, event["methodArn"])
