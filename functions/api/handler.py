"""The HTTP API behind API Gateway: an event in, a reply out."""

import asyncio
import os

from tickwright.api.ahead import build_ahead, models_of
from tickwright.api.call import Api
from tickwright.api.gateway import Event, reply_of, request_of
from tickwright.api.routes import ROUTES
from tickwright.api.service import answer
from tickwright.api.submissions import insists_ms
from tickwright.domain.allowed_targets import allowed_from_json
from tickwright.wiring.aws import kit_from_env, log_link_from_env
from tickwright.wiring.copies import copies_from_env
from tickwright.wiring.intake import intake_from_env
from tickwright.wiring.second_engine import DeferredEngine

_KIT = kit_from_env(os.environ)
_INTAKE = intake_from_env(os.environ, _KIT)
_API = Api(
    kit=_KIT,
    page_secret=os.environ["TICKWRIGHT_PAGE_SECRET"].encode(),
    behind_gateway=True,
    second_engine=DeferredEngine(),
    targets=allowed_from_json(os.environ["TICKWRIGHT_TARGETS"]),
    webhook_key=os.environ["TICKWRIGHT_WEBHOOK_KEY"].encode(),
    log_link=log_link_from_env(os.environ),
    copies=copies_from_env(os.environ, _KIT),
    intake=_INTAKE,
    insists_ms=insists_ms(has_intake=_INTAKE is not None),
)
build_ahead(os.environ, models_of(ROUTES))
_RUNNER = asyncio.Runner()  # one event loop for the life of the container: clients and pools belong to it


def lambda_handler(event: Event, _context: object) -> dict[str, object]:
    """Answer one request."""
    return reply_of(_RUNNER.run(answer(_API, request_of(event), ROUTES)))
