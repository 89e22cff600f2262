"""Are the expressions that crashed or hung other schedulers refused at the door, as an answer and not as a fault?"""

import pytest

from tests.api.client import A_JOB, Client
from tests.unit.schedules.test_known_failures import REFUSED


@pytest.mark.sem("SEM-API-1")
@pytest.mark.parametrize(("row", "cron", "code"), REFUSED, ids=[f"{row}-{code}" for row, _, code in REFUSED])
async def test_what_crashed_elsewhere_is_refused_at_the_door(acme: Client, row: str, cron: str, code: str) -> None:
    """B004, B006, B007, B033, B041, B042, B044, B189: with its place and its reason, by submit and by preview."""
    made = await acme.post("/v1/jobs", A_JOB | {"schedule": {"cron": cron}})
    looked = await acme.post("/v1/schedules/preview", {"schedule": {"cron": cron}})

    assert (made.status, made.errors()) == (422, [("/schedule/cron", code)]), row
    assert (looked.status, looked.errors()) == (422, [("/schedule/cron", code)]), row
    assert (await acme.get("/v1/jobs")).json["jobs"] == []
