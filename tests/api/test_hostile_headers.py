"""Headers and queries as long as a server lets them in: no answer may take longer than they are long.

A server that is shared answers nobody else meanwhile, and its worker loses its leases. The open endpoints ask no key.
"""

from time import process_time

import pytest

from tests.api.client import A_JOB, Client

_BYTES = 60_000  # what uvicorn lets in
_S_MAX = 2.0  # some milliseconds are usual; what grows with the square takes a minute


@pytest.mark.sem("SEM-API-1")
@pytest.mark.parametrize("fill", [" ", '"', "W/", '" ', "\t"])
@pytest.mark.parametrize("name", ["If-None-Match", "If-Match", "Authorization", "Content-Type", "Idempotency-Key"])
async def test_a_long_header_costs_no_more_than_its_length(acme: Client, name: str, fill: str) -> None:
    """Blanks in the middle are what a server does not trim."""
    began_s = process_time()

    sent = {name.lower().replace("-", "_"): "x" + fill * (_BYTES // len(fill)) + "x"}
    await acme.get("/v1/health", **sent)
    await acme.send("PUT", "/v1/jobs/unknown", A_JOB, **({"if_match": "*"} | sent))
    await acme.post("/v1/jobs", A_JOB, **sent)

    assert process_time() - began_s < _S_MAX


@pytest.mark.sem("SEM-API-1")
async def test_a_query_of_very_many_names_costs_no_more_than_its_length(acme: Client) -> None:
    """Each name is looked up once."""
    query = "&".join(f"{number:x}" for number in range(12_000))
    began_s = process_time()

    got = await acme.get(f"/v1/health?{query}")

    assert got.status == 422
    assert process_time() - began_s < _S_MAX
