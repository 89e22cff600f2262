"""An API in this process on the embedded store, with two tenants: nothing is faked but the network."""

from collections.abc import AsyncIterator

import pytest

from tests.api.client import Client
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.api.call import Api
from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.tenants import Scope
from tickwright.services.kit import Kit
from tickwright.wiring.embedded import embedded_kit

PAGE_SECRET = b"a secret of the tests"


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    """The core on memory."""
    async with embedded_kit(None, MemoryTelemetry(), buckets=4) as made:
        yield made


@pytest.fixture
def api(kit: Kit) -> Api:
    """An installation's API."""
    return Api(kit=kit, page_secret=PAGE_SECRET)


@pytest.fixture
async def acme(api: Api) -> Client:
    """A tenant whose key may do everything a tenant may."""
    return await a_client(api, "acme", frozenset(Scope) - {Scope.ADMIN})


@pytest.fixture
async def rival(api: Api) -> Client:
    """Another tenant, as powerful."""
    return await a_client(api, "rival", frozenset(Scope) - {Scope.ADMIN})


async def a_client(api: Api, tenant: str, scopes: frozenset[Scope]) -> Client:
    """A caller with a key of a tenant."""
    secret, _ = await make_key(api.kit, TenantId(tenant), scopes=scopes, label=f"{tenant}'s key")
    return Client(api, secret)
