"""What the functions do on a day on which something is left undone: whoever has to, finds it and does it.

What was there before is staged, as nobody's call; what a function makes of it is recorded. Must not judge rights.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.infra.recorded import TARGET, Installation, Left
from tests.support.builders import an_execution, an_id, decided
from tests.support.kits import LoggedRunner
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import PutHead
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId, WorkerId, tick_key
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.journal import Entry, Page
from tickwright.domain.lanes import Lane
from tickwright.domain.outcomes import Refusal
from tickwright.domain.redrive_orders import Order
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.intake import Submission
from tickwright.ports.runner import Invocation
from tickwright.services.hints import hint_of
from tickwright.services.kit import Kit
from tickwright.services.pull import Wish, pull
from tickwright.services.redrive_orders import get_order, move_on
from tickwright.services.undecided import tell_of_ticks_left
from tickwright.services.webhook_secrets import SecretsInUse

ACME = TenantId("acme")
POOL = "cards"
ONCE = {"maxAttempts": 1}
ROUNDS = 20  # far more than any of this takes


def live_a_worse_day(installation: Installation) -> None:
    """By every function at least once, after a usual day."""
    what_is_given_up(installation)
    what_lands_late(installation)
    what_machines_lose(installation)
    what_a_scheduler_has_left(installation)
    what_nobody_decides(installation)
    what_the_watch_finds(installation)
    what_fails_at_first(installation)


def what_is_given_up(installation: Installation) -> None:
    """A machine gives up a run and its rerun, which is redriven; a pool is put right, another goes under many jobs."""
    installation.ask("PUT", f"/v1/pools/{POOL}", {})
    dead = _given_up(installation, "w1")
    rerun = installation.ask("POST", f"/v1/executions/{dead}/rerun", {"payload": 8}, Idempotency_Key="w2")
    assert _claimed_and_given_up(installation) == rerun["executionId"]
    again = installation.ask("POST", f"/v1/executions/{rerun['executionId']}/redrive", {}, Idempotency_Key="w3")
    assert again["generation"] == 2
    assert _claimed_and_given_up(installation) == rerun["executionId"]
    for url in installation.sqs.list_queues(QueueNamePrefix=installation.pool_queues)["QueueUrls"]:
        installation.sqs.set_queue_attributes(QueueUrl=url, Attributes={"MessageRetentionPeriod": "60"})
    installation.ask("PUT", f"/v1/pools/{POOL}", {"description": "put right"})
    installation.ask("PUT", "/v1/pools/of-many", {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "POOL_JOBS_LOOKED_AT_MAX", 0)  # so that its queues are asked as well
        assert installation.ask("DELETE", "/v1/pools/of-many")["deletedAt"]


def _given_up(installation: Installation, key: str) -> str:
    """A run of the pool that its machine has given up."""
    target = {"type": "pool", "pool": POOL, "handler": "render"}
    installation.submit(key, installation.soon(20), target=target, retryPolicy=ONCE)
    return _claimed_and_given_up(installation)


def _claimed_and_given_up(installation: Installation) -> str:
    asked = {"workerId": "cards-1", "max": 1, "waitSec": 5}
    (held,) = installation.ask("POST", f"/v1/pools/{POOL}/claim", asked)["executions"]
    said = {"leaseEpoch": held["leaseEpoch"], "kind": "fatal", "error": {"class": "Broken"}, "log": "said"}
    told = installation.ask("POST", f"/v1/executions/{held['executionId']}/fail", said)
    assert told["status"] == "DEAD"
    return str(held["executionId"])


def what_lands_late(installation: Installation) -> None:
    """Two minutes after it was accepted: ticks that are passed over, and a run that comes too late to start."""
    at = Instant(installation.now() - 120_000)
    once: dict[str, object] = {
        "schedule": {"runAt": to_rfc3339(Instant(at + 1_000))},
        "catchup": {"mode": "all", "windowSec": 60},
    }
    ticking: dict[str, object] = {"schedule": {"every": "PT1S", "endAt": installation.soon(0)["runAt"]}}
    for number, body in enumerate((ticking, once)):
        job_id = JobId(an_id(950 + number))
        submission = Submission(
            tenant_id=ACME,
            job_id=job_id,
            key=f"POST /v1/jobs late-{number}",
            body_hash="a" * 64,
            asked_at=at,
            body=json.dumps({**body, "target": TARGET}),
        )
        assert installation.land(submission)
        told = installation.ask("GET", f"/v1/jobs/{job_id}/executions")["executions"]
        assert {row["reason"] for row in told} & {"missed", "expired"}


def what_machines_lose(installation: Installation) -> None:
    """Hints of what is held, of what nobody holds any more and may not start again, and of what was granted twice."""
    now, kit = installation.now(), installation.kit("claim")
    over = a_run(installation, 1, state=State.RUNNING, pool=POOL, max_attempts=1, lease_until=Instant(now - 10_000))
    held = a_run(installation, 2, state=State.RUNNING, pool=POOL, lease_until=Instant(now + 5_000))
    installation.stage("claim", kit.queue.send([hint_of(over), hint_of(held)], now))
    for _ in range(ROUNDS):
        installation.ask("POST", f"/v1/pools/{POOL}/claim", {"workerId": "cards-1", "max": 10, "waitSec": 1})
        if installation.ask("GET", f"/v1/executions/{over.ref.id}")["status"] == "DEAD":
            break
    for number in range(2):
        target = {"type": "pool", "pool": POOL, "handler": "render"}
        installation.submit(f"w4-{number}", installation.soon(20), target=target)
    assert installation.run("claim", _asked_twice(kit)) == 1


async def _asked_twice(kit: Kit) -> int:
    """One request at two places at once: what one of them has claimed is given back; how many runs are granted."""
    wish = Wish(worker_id=WorkerId("cards-1"), most=1, wait_ms=5_000, lanes=[Lane.NORMAL], request="twice")
    answers = await asyncio.gather(*(pull(kit, ACME, POOL, wish) for _ in range(2)))
    return len({grant.execution.ref for grants in answers if not isinstance(grants, Refusal) for grant in grants})


def what_a_scheduler_has_left(installation: Installation) -> None:
    """One that is gone has the bucket: what it has begun is looked after, what waits is let go, an edit counts."""
    kit, now = installation.kit("scheduler"), installation.now()
    gone = SchedulerLoop(kit, owner="scheduler-0-gone", slot=0, slots=1, crew="scheduler-0-")
    installation.stage("scheduler", gone.tick())
    edited = installation.submit("w5", {"every": "PT1H"})
    path = f"/v1/jobs/{edited['jobId']}?effectiveFrom={installation.soon(500)['runAt']}"
    installation.ask("PATCH", path, {"priority": "high"}, If_Match=edited["etag"])
    lost = Instant(now - 10_000)
    begun = [
        a_run(installation, 3, state=State.RUNNING, lease_until=lost),
        a_run(installation, 4, state=State.RUNNING, lease_until=lost, max_attempts=1),
        a_run(installation, 5, pool=POOL, scheduled_at=now),
    ]
    installation.stage("scheduler", kit.store.put_page(a_page(kit, begun, check_at=Instant(now + 4_000))))
    waiting = [
        a_run(installation, number, state=State.RETRY, wait_key="0", wait_at=now, retry_at=now) for number in (6, 7)
    ]
    installation.invoke("scheduler", {"slot": 0, "slots": 1}, Left(20_000 + 3_000))
    assert installation.ask("GET", f"/v1/jobs/{edited['jobId']}")["priority"] == "high"
    ends = [installation.ask("GET", f"/v1/executions/{one.ref.id}")["status"] for one in (*begun, *waiting)]
    assert ends[:3] == ["RETRY", "DEAD", "QUEUED"]


def what_nobody_decides(installation: Installation) -> None:
    """A tick that no calendar closes was due long ago, and nobody serves its bucket."""
    kit, name = installation.kit("watch"), "office"
    installation.ask("PUT", f"/v1/calendars/{name}", {"type": "exclude", "days": ["2001-01-01"]})
    schedule = {"every": "PT1H", "calendars": [name]}
    left = installation.submit("w9", schedule)["jobId"]
    head = installation.stage("watch", kit.store.head(left))
    assert head is not None
    due = replace(head, job_id=a_job(20), next_run_at=Instant(installation.now() - 60_000), created_at=Instant(0))
    installation.stage("watch", kit.store.write(PutHead(head=due)))
    assert installation.run("watch", tell_of_ticks_left(kit, 0)) == 1
    installation.ask("POST", f"/v1/jobs/{due.job_id}/cancel")


def what_the_watch_finds(installation: Installation) -> None:
    """Ticks that were decided and no more, together and alone; a lease that is over; an order that was cancelled."""
    kit, now = installation.kit("watch"), installation.now()
    tick = Instant(now // 60_000 * 60_000)
    hourly = installation.submit("w6", {"every": "PT1H"})["jobId"]
    like = installation.stage("watch", kit.store.head(hourly))
    assert like is not None
    heads = [replace(decided(like, tick, next_run_at=like.next_run_at), job_id=a_job(number)) for number in range(3)]
    for head in heads:
        installation.stage("watch", kit.store.write(PutHead(head=head)))
    refs = [ExecutionRef(head.job_id, tick_key(tick)) for head in heads]
    over = a_run(installation, 8, state=State.RUNNING, lease_until=Instant(now - 10_000), max_attempts=1)
    for together in (refs[:2], refs[2:], [over.ref]):
        installation.stage("watch", kit.store.put_page(a_page(kit, together, check_at=now)))
    installation.invoke("watch", {}, Left(20_000 + 1_000))
    assert installation.ask("GET", f"/v1/executions/{over.ref.id}")["status"] == "DEAD"
    assert all(installation.ask("GET", f"/v1/executions/{ref.id}")["status"] == "QUEUED" for ref in refs)
    wanted = {"filter": {"errorClass": "Broken"}, "ratePerMin": 600}
    given = installation.ask("POST", "/v1/dead-letters/redrives", wanted, Idempotency_Key="w7")
    in_hand = installation.stage("watch", _in_hand(kit, given["orderId"]))
    installation.ask("POST", f"/v1/dead-letters/redrives/{given['orderId']}/cancel")
    installation.run("watch", move_on(kit, in_hand, budget_ms=0))


async def _in_hand(kit: Kit, order_id: str) -> Order:
    """The order, once it has found what it means."""
    order = await get_order(kit, ACME, order_id)
    for _ in range(ROUNDS):
        assert isinstance(order, Order)
        if order.hand:
            return order
        order = await move_on(kit, order, budget_ms=0)
    raise AssertionError("nothing has died that it means")


def what_fails_at_first(installation: Installation) -> None:
    """A run that says something and ends well the second time; and a request that is signed."""
    worker = installation.functions.module("worker")

    async def does(invocation: Invocation) -> UserResult:
        invocation.log.write("said\n")
        return Success() if invocation.execution.attempt > 1 else Failure(error=an_error("Broken", "once"))

    runner = LoggedRunner(clock=installation.kit("worker").clock, does=does)
    setattr(worker, "_RUNNERS", {"http": runner})  # noqa: B010 - no target answers here, and a module is opaque
    often = {"maxAttempts": 3, "backoff": {"initialSec": 0.2, "maxSec": 0.5}}
    job = installation.submit("w8", installation.soon(20), retryPolicy=often)
    for _ in range(ROUNDS):
        if _status_of_its_run(installation, job["jobId"]) == "SUCCEEDED":
            break
        installation.work_on(installation.hints())
    installation.run("worker", SecretsInUse(kit=installation.kit("worker"), key=b"a key").of(ACME))


def _status_of_its_run(installation: Installation, job_id: str) -> str | None:
    rows = installation.ask("GET", f"/v1/jobs/{job_id}/executions")["executions"]
    return str(rows[0]["status"]) if rows else None


def a_job(number: int) -> JobId:
    """An id of this day's own."""
    return JobId(an_id(800 + number))


def a_run(installation: Installation, number: int, **shown: Any) -> Execution:  # noqa: ANN401 - any field of the class
    """A run that is there already, since half a minute."""
    since = {"scheduled_at": Instant(installation.now() - 30_000)}
    run = an_execution(job_id=a_job(10 + number), **(since | shown))
    installation.stage("api", installation.kit("api").store.write(Insert(execution=run)))
    return run


def a_page(kit: Kit, named: Sequence[Execution | ExecutionRef], *, check_at: Instant) -> Page:
    """A page of the journal that names them."""
    refs = [one.ref if isinstance(one, Execution) else one for one in named]
    entries = tuple(Entry(job_id=ref.job_id, key=ref.key, version=1) for ref in refs)
    return Page(bucket=0, check_at=check_at, writer=kit.entropy.token(), entries=entries)
