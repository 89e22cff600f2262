"""Is the signing secret shown to its tenant alone, and rotated once?"""

from dataclasses import replace

import pytest

from tests.api.client import Client
from tests.api.conftest import a_client
from tickwright.api.call import Api
from tickwright.domain.tenants import Scope


@pytest.fixture
def api(api: Api) -> Api:
    """An installation that signs."""
    return replace(api, webhook_key=b"a key of the tests")


@pytest.mark.sem("SEM-SIGN-1")
async def test_each_tenant_has_a_secret_of_its_own(acme: Client, rival: Client) -> None:
    """In the form that the standard gives it; for no cache on the way."""
    mine, others = await acme.get("/v1/webhook-secret"), await rival.get("/v1/webhook-secret")

    assert mine.status == 200
    assert mine.json["number"] == 1
    assert mine.json["secret"].startswith("whsec_")
    assert mine.json["former"] is None
    assert mine.json["secret"] != others.json["secret"]
    assert mine.headers["Cache-Control"] == "no-store"


@pytest.mark.sem("SEM-SIGN-1")
async def test_a_rotation_shows_both_secrets_and_is_done_once(acme: Client) -> None:
    """The same request again answers the same."""
    first = (await acme.get("/v1/webhook-secret")).json
    rotated = await acme.post("/v1/webhook-secret/rotate", {"number": 1})
    again = await acme.post("/v1/webhook-secret/rotate", {"number": 1})

    assert (rotated.status, rotated.json["number"]) == (200, 2)
    assert (rotated.json["former"]["number"], rotated.json["former"]["secret"]) == (1, first["secret"])
    assert rotated.json["former"]["until"] is not None
    assert again.json == rotated.json == (await acme.get("/v1/webhook-secret")).json


async def test_a_rotation_from_a_number_that_is_not_in_use_is_refused(acme: Client) -> None:
    """Somebody has gone on meanwhile, or it was never read."""
    refused = await acme.post("/v1/webhook-secret/rotate", {"number": 2})

    assert (refused.status, refused.code) == (412, "version_conflict")


async def test_a_key_that_may_only_read_sees_no_secret(api: Api) -> None:
    """Whoever has it can sign in our name."""
    reader = await a_client(api, "acme", frozenset({Scope.JOBS_READ}))

    assert (await reader.get("/v1/webhook-secret")).status == 403


async def test_an_installation_without_a_key_has_nothing_to_show(acme: Client) -> None:
    """It signs nothing."""
    unsigned = Client(replace(acme.api, webhook_key=b""), acme.secret)

    assert (await unsigned.get("/v1/webhook-secret")).status == 404
