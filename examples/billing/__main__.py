"""`python -m examples.billing`: freeze a worker past its lease, let another finish, thaw the first, and look.

Prints what happens, step by step, and one line of JSON at the end; the exit status is 1 if a write of the zombie was
accepted by a store that has a fence.
"""

import json
import sqlite3
import sys
import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from examples.billing import worker
from examples.billing.programs import Missing, Program, Stuck, start_dynamodb, start_tickwright, start_worker, until
from tickwright_sdk.client import Client

SCALE = 0.1  # a lease of six seconds instead of a minute
ROWS = [1_200, 350, 99]
# No backoff: the second worker may begin as soon as the lease of the first is over.
RETRY = {"maxAttempts": 3, "backoff": {"initialSec": 0, "maxSec": 0}}


@dataclass(slots=True)
class Show:
    """The demonstration: what has been started, and what is known by now."""

    folder: Path
    started: ExitStack
    places: list[str] = field(default_factory=lambda: ["unfenced", "sqlite"])
    environment: dict[str, str] = field(default_factory=dict)
    dynamodb: str | None = None

    def say(self, text: str) -> None:
        """One step."""
        print(text, flush=True)  # noqa: T201 - a program for a person at a terminal

    def run(self) -> dict[str, Any]:
        """All of it; what came of it."""
        self._start_stores()
        program, url, key = start_tickwright(self.folder, scale=SCALE)
        self.started.callback(program.end)
        self.environment |= {"TICKWRIGHT_URL": url, "TICKWRIGHT_API_KEY": key}
        self.say(f"1. Tickwright is at {url}; a lease takes {round(60 * SCALE)} s here.")
        with Client(url, key) as client:
            execution_id = self._submit(client)
            zombie, gate = self._freeze_one()
            self._let_another_finish(client, execution_id)
            gate.touch()
            self.say("6. The first worker is thawed. To itself no time has passed: it writes its bill.")
            zombie.thaw()
            outcomes = self._outcomes(zombie)
            return self._judge(client.execution(execution_id), outcomes)

    def _start_stores(self) -> None:
        with closing(sqlite3.connect(self.folder / "billing.db")) as connection:
            connection.executescript("PRAGMA journal_mode = WAL;" + worker.SCHEMA)
        self.environment["BILLING_FILE"] = str(self.folder / "billing.db")
        try:
            engine, self.dynamodb = start_dynamodb()
        except Missing as missing:
            self.say(f"(DynamoDB is left out: {missing}.)")
            return
        self.started.callback(engine.end)
        self.environment["BILLING_DYNAMODB"] = worker.DYNAMODB = self.dynamodb
        self.places.append("dynamodb")
        _client().create_table(
            TableName=worker.TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def _submit(self, client: Client) -> str:
        client.put_pool("billing", description="the demonstration's own workers")
        target = {"type": "pool", "pool": "billing", "handler": "billing.charge"}
        far = {"cron": "0 0 1 1 *"}
        job = client.submit({"schedule": far, "target": target, "payload": {"rows": ROWS}, "retryPolicy": RETRY})
        execution_id: str = client.run(job["jobId"])["executionId"]
        self.say(f"2. The job {job['jobId']} is submitted and run: execution {execution_id}.")
        return execution_id

    def _worker(self, name: str, **more: str) -> Program:
        program = start_worker(name, self.environment | more)
        self.started.callback(program.end)
        return program

    def _freeze_one(self) -> tuple[Program, Path]:
        gate = self.folder / "gate"
        first = self._worker("first", BILLING_GATE=str(gate))
        self.say("3. The first worker claims it and begins to calculate.")
        while self._next(first)["event"] != "calculating":
            pass
        first.freeze()
        self.say("4. SIGSTOP: it is frozen before it has written. No heartbeat comes any more.")
        return first, gate

    def _let_another_finish(self, client: Client, execution_id: str) -> None:
        second = self._worker("second")
        self.say("5. The lease runs out. The second worker claims the execution and finishes it.")
        self._outcomes(second)
        until(lambda: client.execution(execution_id)["status"] == "SUCCEEDED", "the second has reported")

    def _outcomes(self, program: Program) -> dict[str, str]:
        """What became of each write of a worker."""
        found: dict[str, str] = {}
        while len(found) < len(self.places):
            said = self._next(program)
            if said["event"] in {"wrote", "refused"}:
                found[said["place"]] = said["event"]
        return found

    def _next(self, program: Program) -> dict[str, Any]:
        """The next thing that a worker says, told on."""
        said = program.event()
        rest = ", ".join(f"{name} {value}" for name, value in said.items() if name not in {"worker", "event"})
        self.say(f"      the {said['worker']} worker: {said['event']}" + (f" ({rest})" if rest else ""))
        return said

    def _judge(self, execution: dict[str, Any], outcomes: dict[str, str]) -> dict[str, Any]:
        books = self._books()
        self.say("7. In the books now:")
        for place, written_by in books.items():
            self.say(f"      {place}: written by the {written_by} worker")
        fenced = [place for place in self.places if place != "unfenced"]
        ok = all(outcomes[place] == "refused" and books[place] == "second" for place in fenced)
        return {
            "ok": ok and execution["status"] == "SUCCEEDED" and execution["leaseEpoch"] > 1,
            "zombieWrites": outcomes,
            "writtenBy": books,
            "leaseEpoch": execution["leaseEpoch"],
            "attempt": execution["attempt"],
        }

    def _books(self) -> dict[str, str]:
        with closing(sqlite3.connect(self.folder / "billing.db")) as connection:
            ((unfenced,),) = connection.execute("SELECT written_by FROM unfenced_bills").fetchall()
            ((sqlite,),) = connection.execute("SELECT written_by FROM bills").fetchall()
        books = {"unfenced": str(unfenced), "sqlite": str(sqlite)}
        if self.dynamodb is not None:
            (item,) = _client().scan(TableName=worker.TABLE, ConsistentRead=True)["Items"]
            books["dynamodb"] = item["writtenBy"]["S"]
        return books


def _client() -> Any:  # noqa: ANN401 - botocore's, made at run time
    return worker.dynamodb_client()


def main() -> int:
    """Run it; 0 if every fence has held."""
    with tempfile.TemporaryDirectory(prefix="tickwright-billing-") as folder, ExitStack() as started:
        try:
            found = Show(folder=Path(folder), started=started).run()
        except Stuck as stuck:
            found = {"ok": False, "stuck": str(stuck)}
    print(json.dumps(found), flush=True)  # noqa: T201 - as above
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
