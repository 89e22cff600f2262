"""Every snippet of docs/fences.md runs as it stands, and leaves in the stores what the page says."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from tests.tidy.tree import ROOT

PAGE = (ROOT / "docs" / "fences.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def names(moto: None, tmp_path: Path) -> dict[str, Any]:
    """What the page takes for granted: a context, a database, clients."""
    client = boto3.client("dynamodb")
    client.create_table(
        TableName="bills",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    storage = boto3.client("s3")
    storage.create_bucket(Bucket="reports")
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE payments (run TEXT, cents INTEGER)")
        connection.execute("CREATE TABLE reports (job TEXT PRIMARY KEY, total INTEGER, fence BIGINT NOT NULL)")
    tick = datetime(2026, 12, 1, tzinfo=UTC)
    ctx = SimpleNamespace(execution_id="e1", job_id="j1", lease_epoch=2, scheduled_time=tick)
    return {"ctx": ctx, "client": client, "storage": storage, "connect": lambda: sqlite3.connect(tmp_path / "a.db")}


@pytest.mark.sem("SEM-SDK-12")
def test_the_snippets_of_the_page_do_what_it_says(names: dict[str, Any]) -> None:
    """One after another, in one namespace; then the same as a zombie, which is refused at each."""
    assert len(SNIPPETS) == 6
    for snippet in SNIPPETS:
        exec(snippet, names)  # noqa: S102 - the page is ours

    names["ctx"].lease_epoch = 1
    for snippet in SNIPPETS[1:]:
        with pytest.raises(names["FenceRefused"]):
            exec(snippet, names)  # noqa: S102 - as above

    with closing(names["connect"]()) as connection:
        assert connection.execute("SELECT * FROM payments").fetchall() == [("e1", 1649)]
        assert connection.execute("SELECT job, total FROM reports").fetchall() == [("j1", 1650)]
    found = {item["pk"]["S"]: item for item in names["client"].scan(TableName="bills")["Items"]}
    assert found["e1"] == {"pk": {"S": "e1"}, "cents": {"N": "1649"}, "paid": {"BOOL": True}, "fence": {"N": "2"}}
    assert found["payment-7"]["deleted"] == {"BOOL": True}
    assert names["report"] == b"account,cents"
