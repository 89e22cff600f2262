"""What a tenant does with a deployed installation, and what has to come of it: each job is one promise of the product.

Every job is submitted first and looked at afterwards, so that they share the minute which the first rule takes. Must
not know how the installation came to be.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from tests.deploy.app import FUNCTION_ARN
from tests.deploy.ground import Missed, expect, until
from tests.deploy.target import Book
from tests.deploy.tenant import Tenant
from tests.support.emulators.clients import aws_client
from tickwright.adapters.clock_system import SystemClock

# The first rule fires 60 to 70 s after it was made, and a loaded machine takes its time with everything.
RUNS_WITHIN_S = 600
_QUICK = {"maxAttempts": 3, "backoff": {"initialSec": 0.5, "maxSec": 1}}
TICK_S = 5
# A long run is one that goes on for as long as the update takes, and then for a few steps of its next machine.
_STEPS_AFTER = 3

Execution = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Journeys:
    """The jobs of one tenant."""

    tenant: Tenant
    book: Book
    server: str
    jobs: dict[str, str] = field(default_factory=dict)

    def submit(self) -> None:
        """All of them; one of them twice."""
        soon, later = _at(20), _at(60)
        self._lambda("once", {"runAt": soon}, priority="high")
        self._lambda("flaky", {"runAt": soon})
        self._lambda("dead", {"runAt": soon}, priority="low", retryPolicy=_QUICK | {"maxAttempts": 2})
        self._lambda("cancelled", {"runAt": later})
        self._python("until-cancelled", {"runAt": soon})
        self._lambda("ticking", {"every": f"PT{TICK_S}S"}, overlap={"mode": "allow"}, catchup={"mode": "all"})
        self.tenant.told("DELETE", f"/jobs/{self.jobs['cancelled']}")

    def submit_steps(self) -> None:
        """The run that is there before the update and ends after it."""
        self._python("steps", {"runAt": _at(1)})

    def repeated_request_creates_nothing(self) -> None:
        """The same again gets the same job; another body under the same key is refused."""
        job = self._job("once", self._called(), schedule={"runAt": _at(3_600)})
        same = {"Idempotency_Key": "again"}
        first = self.tenant.told("POST", "/jobs", job, **same)
        expect("a repeated request", self.tenant.told("POST", "/jobs", job, **same)["jobId"], first["jobId"])
        other = self.tenant.ask("POST", "/jobs", job | {"timeoutSec": 17}, **same)
        expect("another body under the key", other.status, 422)
        self.tenant.told("DELETE", f"/jobs/{first['jobId']}")

    def succeeds_and_is_retried(self) -> None:
        """One run at the first attempt; one that failed twice, at the third."""
        once = self.ends_as("once", "SUCCEEDED")
        expect("how often it was tried, and why it ran", (once["attempt"], once["cause"]), (1, "schedule"))
        result = self.tenant.told("GET", f"/executions/{once['executionId']}")["result"]
        expect("what it returned", result, {"heard": {"kind": "once", "server": self.server}, "enough": False})
        flaky = self.ends_as("flaky", "SUCCEEDED")
        expect("how often it was tried", flaky["attempt"], 3)
        expect("the attempts it was called with", [call.attempt for call in self.book.of("flaky")], [1, 2, 3])

    def dies_and_is_redriven(self, endpoint: str) -> None:
        """Out of attempts it is a dead letter with its reason; mended and redriven it succeeds."""
        dead = self.ends_as("dead", "DEAD")
        expect("why and after how many attempts", (dead["reason"], dead["attempt"]), ("failed", 2))
        execution_id = dead["executionId"]
        said = self.tenant.told("GET", f"/executions/{execution_id}/explanation")
        expect("whose explanation it is", (said["executionId"], bool(said["waitsFor"])), (execution_id, True))
        letters = self.tenant.told("GET", "/dead-letters")["deadLetters"]
        expect("the dead letters", [letter["execution"]["executionId"] for letter in letters], [execution_id])
        until("its copy is in the queue of the dead", lambda: execution_id in _dead_copies(endpoint), within_s=30)
        self.book.broken.clear()
        self.tenant.told("POST", f"/executions/{execution_id}/redrive", {}, Idempotency_Key="redrive-1")
        again = self.ends_as("dead", "SUCCEEDED")
        expect("its generation, and its letters", (again["generation"], self._letters()), (2, []))

    def is_cancelled_while_it_runs(self) -> None:
        """The handler hears of it at its next heartbeat, and the run ends as cancelled."""
        running = self._once_in("until-cancelled", "RUNNING")
        self.tenant.told("POST", f"/executions/{running['executionId']}/cancel", {})
        self.ends_as("until-cancelled", "CANCELLED")
        expect(
            "what the handler was told", [call.note for call in self.book.of("until-cancelled")], ["began", "cancelled"]
        )

    def heartbeats(self) -> None:
        """What a handler notes with a heartbeat is seen at once, and its lease moves on."""
        running = self._once_in("steps", "RUNNING")
        first = self.tenant.told("GET", f"/executions/{running['executionId']}")

        def moved() -> bool:
            now = self.tenant.told("GET", f"/executions/{running['executionId']}")
            return (now["progress"] or 0) > (first["progress"] or 0) and now["leaseUntil"] > first["leaseUntil"]

        until("a heartbeat moves progress and lease", moved, within_s=60)

    def ticks(self, number: int) -> None:
        """So many ticks have succeeded."""

        def enough() -> bool:
            return _states(self.tenant.ledger(self.jobs["ticking"]))["SUCCEEDED"] >= number

        until(f"{number} ticks have run", enough, within_s=RUNS_WITHIN_S)

    def ticks_go_on(self, number: int) -> None:
        """So many more have succeeded than before."""
        self.ticks(_states(self.tenant.ledger(self.jobs["ticking"]))["SUCCEEDED"] + number)

    def nothing_was_lost(self) -> Mapping[str, int]:
        """Every tick has one row and one success, under one epoch each call; figures of what the update cost.

        A tick is decided some seconds ahead: one that the pause overtakes is cancelled, and was never called.
        """
        paused_at = datetime.fromisoformat(_at(0))
        self.tenant.told("POST", f"/jobs/{self.jobs['ticking']}/pause", {})

        def settled() -> list[dict[str, Any]] | None:
            ledger = self.tenant.ledger(self.jobs["ticking"])
            return ledger if not set(_states(ledger)) - {"SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"} else None

        ledger = until("every tick has ended", settled, within_s=RUNS_WITHIN_S)
        times = [datetime.fromisoformat(row["scheduledTime"]) for row in reversed(ledger)]
        expect(
            "the time between ticks",
            {late - early for early, late in pairwise(times)},
            {timedelta(seconds=TICK_S)},
        )
        overtaken = [row for row in ledger if datetime.fromisoformat(row["scheduledTime"]) >= paused_at]
        stopped = [row for row in overtaken if (row["status"], row["reason"]) == ("CANCELLED", "paused")]
        ran = [row for row in ledger if row not in stopped]
        others = [(row["executionId"], row["status"], row["reason"]) for row in ran if row["status"] != "SUCCEEDED"]
        expect("ticks that ended otherwise", others, [])
        calls = Counter((call.execution_id, call.epoch) for call in self.book.of("ticking"))
        expect("calls under one epoch", [place for place, number in calls.items() if number > 1], [])
        expect("which executions were called", {place[0] for place in calls}, {row["executionId"] for row in ran})
        tried_again = [row for row in ran if row["attempt"] > 1]
        expect("calls of those tried once", *_once(calls, ran))
        return {"ticks": len(ran), "ticksTriedAgain": len(tried_again), "ticksStoppedByThePause": len(stopped)}

    def the_long_run_went_on(self) -> Mapping[str, int]:
        """The old machine gives it back, and the next one goes on behind its last step: none left out, none done twice.

        A lease that was lost meanwhile (a local AWS that does not answer for a minute) counts as an attempt, and is
        gone on with from what was stored last: steps may be done again then, and none is left out.
        """

        def on_the_next_machine() -> bool:
            calls = self.book.of("steps")
            return len([call for call in calls if call.epoch > calls[0].epoch]) >= _STEPS_AFTER

        until("the long run goes on elsewhere", on_the_next_machine, within_s=RUNS_WITHIN_S)
        self.book.enough.add("steps")
        ended = self.ends_as("steps", "SUCCEEDED")
        calls = sorted(self.book.of("steps"), key=lambda call: call.epoch)
        given_back = [(one, two) for one, two in pairwise(calls) if one.attempt == two.attempt]
        lost = [(one, two) for one, two in pairwise(calls) if one.attempt < two.attempt]
        expect("the first step", calls[0].note, 0)
        expect("steps not in their order", [two for one, two in given_back if two.note != one.note + 1], [])
        expect("steps left out", [two for one, two in lost if two.note > one.note + 1], [])
        expect("whether a machine gave it back", any(one.epoch < two.epoch for one, two in given_back), True)  # noqa: FBT003
        return {"steps": len(calls), "stepsEpochs": ended["leaseEpoch"], "stepsAttempts": ended["attempt"]}

    def cancelled_never_ran(self) -> None:
        """After a cancel is acknowledged no attempt starts: its time has come and gone."""
        expect("calls of a job that was cancelled", self.book.of("cancelled"), [])
        expect("its executions", self.tenant.ledger(self.jobs["cancelled"]), [])

    def ends_as(self, name: str, state: str) -> Execution:
        """The one execution of a job, once it is in this state."""
        return self._once_in(name, state)

    def _once_in(self, name: str, state: str) -> Execution:
        def ask() -> Execution | None:
            ledger = self.tenant.ledger(self.jobs[name])
            return ledger[0] if len(ledger) == 1 and ledger[0]["status"] == state else None

        try:
            return until(f"{name} is {state}", ask, within_s=RUNS_WITHIN_S)
        except Missed as missed:
            raise Missed(f"{missed}; its ledger: {self.tenant.ledger(self.jobs[name])}") from missed

    def _letters(self) -> list[Any]:
        found: list[Any] = self.tenant.told("GET", "/dead-letters")["deadLetters"]
        return found

    def _lambda(self, name: str, schedule: Mapping[str, object], **more: object) -> None:
        self.jobs[name] = self.tenant.submit(name, self._job(name, self._called(), schedule=schedule, **more))

    def _python(self, name: str, schedule: Mapping[str, object]) -> None:
        handler = {"type": "python", "handler": f"deploy.{name}"}
        self.jobs[name] = self.tenant.submit(name, self._job(name, handler, schedule=schedule))

    def _called(self) -> Mapping[str, object]:
        return {"type": "lambda", "functionArn": FUNCTION_ARN}

    def _job(self, name: str, target: Mapping[str, object], **more: object) -> dict[str, object]:
        told = {"kind": name, "server": self.server}
        return {"target": target, "payload": told, "retryPolicy": _QUICK, **more}


def _once(calls: Mapping[tuple[str, int], int], ledger: list[dict[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    """Of the executions that were tried once: how often each was called, and how often it should have been."""
    called = Counter(execution_id for execution_id, _ in calls)
    once = [row["executionId"] for row in ledger if row["attempt"] == 1]
    return {execution_id: called[execution_id] for execution_id in once}, dict.fromkeys(once, 1)


def _states(ledger: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str(row["status"]) for row in ledger)


def _at(seconds: int) -> str:
    now = datetime.fromtimestamp(SystemClock().now() / 1_000, tz=UTC)
    return (now + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _dead_copies(endpoint: str) -> set[str]:
    """What people's tools find in the queue of dead executions; each message stays for the next look."""
    sqs = aws_client("sqs", endpoint)
    (url,) = [url for url in sqs.list_queues()["QueueUrls"] if "QueueDeadExecutions" in url]
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages", [])
    return {str(json.loads(message["Body"])["executionId"]) for message in found}
