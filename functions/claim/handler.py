"""Claims of pools behind API Gateway, and nothing else: an event in, a reply out.

A claim holds its container while it waits: machines that idle must not take other requests' containers, nor one
tenant's all of these.
"""

import asyncio
import os

from tickwright.api.ahead import build_ahead, models_of
from tickwright.api.call import Api
from tickwright.api.claims import CLAIMS
from tickwright.api.gateway import Event, reply_of, request_of
from tickwright.api.service import answer
from tickwright.wiring.aws import kit_from_env

_API = Api(kit=kit_from_env(os.environ), behind_gateway=True, claim_seats=int(os.environ["TICKWRIGHT_CLAIM_SEATS"]))
build_ahead(os.environ, models_of(CLAIMS))
_RUNNER = asyncio.Runner()  # one event loop for the life of the container: clients and pools belong to it


def lambda_handler(event: Event, _context: object) -> dict[str, object]:
    """Answer one claim."""
    return reply_of(_RUNNER.run(answer(_API, request_of(event), CLAIMS)))
