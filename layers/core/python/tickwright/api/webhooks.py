"""The endpoints of the secret that a tenant's endpoints check our signatures with: look at it, rotate it.

Must not know the rules: the services decide, here their outcomes become answers. Promise: SEM-SIGN-1.
"""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from tickwright.api.call import Call
from tickwright.api.exchange import Response, json_response
from tickwright.api.problems import granted
from tickwright.api.shapes import Shape
from tickwright.api.views import time_json
from tickwright.services.webhook_secrets import Signing, get_signing, rotate

# A secret is for whoever asked, and for no cache on the way.
_UNCACHED = {"Cache-Control": "no-store"}


class RotationBody(Shape):
    """From which number to go on to the next; the same request again changes nothing more."""

    number: Annotated[int, Field(ge=1, le=2**31 - 1, description="That of the secret as it was read.")]


class FormerSecretJson(TypedDict):
    """The secret before, and until when requests are signed with it as well."""

    number: int
    secret: str
    until: str | None


class WebhookSecretJson(TypedDict):
    """What signatures are checked with, by the rules of Standard Webhooks."""

    number: int
    secret: str
    former: FormerSecretJson | None


async def get_secret(call: Call) -> Response:
    """GET /v1/webhook-secret."""
    signing = granted(await get_signing(call.kit, call.api.webhook_key, call.tenant_id))
    return json_response(200, _shown(signing), _UNCACHED)


async def rotate_secret(call: Call) -> Response:
    """POST /v1/webhook-secret/rotate."""
    seen = call.read(RotationBody).number
    signing = granted(await rotate(call.kit, call.api.webhook_key, call.tenant_id, seen=seen))
    return json_response(200, _shown(signing), _UNCACHED)


def _shown(signing: Signing) -> WebhookSecretJson:
    before = signing.before
    former: FormerSecretJson | None = (
        None
        if before is None
        else {"number": before.number, "secret": before.text, "until": time_json(signing.before_until)}
    )
    return {"number": signing.newest.number, "secret": signing.newest.text, "former": former}
