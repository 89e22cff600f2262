"""A tenant's own worker: it makes one bill and writes it down, in an SQLite file and, where there is one, in DynamoDB.

What it says it prints, one JSON object a line. Run by demo.py; run it yourself with TICKWRIGHT_URL, TICKWRIGHT_API_KEY
and BILLING_FILE set.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tickwright_sdk import Context, Worker
from tickwright_sdk.fences import FenceRefused, dynamodb, fence_of
from tickwright_sdk.fences.sql import CREATE_GUARDS, FencedWrites

TABLE = "bills"
SCHEMA = f"""
{CREATE_GUARDS};
CREATE TABLE IF NOT EXISTS bills (id TEXT PRIMARY KEY, cents INTEGER NOT NULL, written_by TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS unfenced_bills (id TEXT PRIMARY KEY, cents INTEGER NOT NULL, written_by TEXT NOT NULL);
"""
NAME = os.environ.get("BILLING_WORKER", "w")
FILE = os.environ.get("BILLING_FILE", "billing.db")
DYNAMODB = os.environ.get("BILLING_DYNAMODB")
# The demonstration holds the calculation of the first attempt up here, until it has seen what it wants to see.
GATE = os.environ.get("BILLING_GATE")

worker = Worker(pool="billing", worker_id=NAME, concurrency=1, threads=2, grace_s=5)


@worker.job("billing.charge")
def charge(bill: dict[str, Any], ctx: Context) -> dict[str, Any]:
    """Add up, then write. It never asks whether to stop: what protects the books is the fence alone."""
    say(event="began", attempt=ctx.attempt, leaseEpoch=ctx.lease_epoch)
    cents = sum(bill["rows"])
    if GATE is not None:
        calculate_until(Path(GATE))
    writes: dict[str, Callable[[], None]] = {
        "unfenced": lambda: write_without_a_fence(ctx, cents),
        "sqlite": lambda: write_to_sqlite(ctx, cents),
    }
    if DYNAMODB:
        writes["dynamodb"] = lambda: write_to_dynamodb(ctx, cents)
    refusals = [refusal for place, write in writes.items() if (refusal := outcome(place, write)) is not None]
    if refusals:
        raise refusals[0]
    return {"cents": cents}


def outcome(place: str, write: Callable[[], None]) -> FenceRefused | None:
    """Write; say how it went."""
    try:
        write()
    except FenceRefused as refused:
        say(event="refused", place=place, why=str(refused))
        return refused
    say(event="wrote", place=place)
    return None


def write_to_sqlite(ctx: Context, cents: int) -> None:
    """The guard first, then whatever there is to write, in one transaction."""
    with closing(sqlite3.connect(FILE, timeout=30)) as connection, connection:
        FencedWrites(connection.cursor(), fence_of(ctx)).guard()
        connection.execute("INSERT OR REPLACE INTO bills VALUES (?, ?, ?)", (ctx.execution_id, cents, NAME))


def write_to_dynamodb(ctx: Context, cents: int) -> None:
    """One conditional put; the fence is an attribute of the item."""
    item = {"id": {"S": ctx.execution_id}, "cents": {"N": str(cents)}, "writtenBy": {"S": NAME}}
    dynamodb.put(dynamodb_client(), {"TableName": TABLE, "Item": item}, fence_of(ctx))


def write_without_a_fence(ctx: Context, cents: int) -> None:
    """What most programs do. It is here to be compared."""
    with closing(sqlite3.connect(FILE, timeout=30)) as connection, connection:
        row = (ctx.execution_id, cents, NAME)
        connection.execute("INSERT OR REPLACE INTO unfenced_bills VALUES (?, ?, ?)", row)


def calculate_until(gate: Path) -> None:
    """A long calculation: nothing in it notices that time passes."""
    say(event="calculating")
    while not gate.exists():
        time.sleep(0.02)  # noqa: TID251 - this stands for work


def dynamodb_client() -> dynamodb.DynamoDB:
    """A client of a local engine, with invented credentials."""
    import boto3  # noqa: PLC0415 - a second, for those who have one
    from botocore.config import Config  # noqa: PLC0415 - as above

    made: dynamodb.DynamoDB = boto3.client(
        "dynamodb",
        endpoint_url=DYNAMODB,
        region_name="eu-central-1",
        aws_access_key_id="example",
        aws_secret_access_key="example",  # noqa: S106 - as said
        config=Config(proxies={}),
    )
    return made


def say(**what: object) -> None:
    """One line."""
    print(json.dumps({"worker": NAME, **what}), flush=True)  # noqa: T201 - it is read by the demonstration


if __name__ == "__main__":
    worker.run()
