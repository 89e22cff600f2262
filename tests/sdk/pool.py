"""A pool as the API shows it, in memory: what it grants, and what it is told of what it granted."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.sdk.scripted import Asked, Says, Scripted, problem, scripted

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


Json = dict[str, Any]


def a_claim(number: int = 1, *, beat_s: float = 0.2, lease_s: float = 1.0, time_s: float = 60, **more: object) -> Json:
    """What the API tells of a claimed execution; times shrunk so that a test takes no longer than it must."""
    return {
        "executionId": f"e{number}",
        "jobId": "j1",
        "jobName": "nightly",
        "handler": "work",
        "scheduledTime": "2026-12-01T12:00:00.000Z",
        "attempt": 1,
        "maxAttempts": 3,
        "leaseEpoch": 1,
        "leaseUntil": (NOON + timedelta(seconds=min(lease_s, time_s))).isoformat(),
        "deadline": (NOON + timedelta(seconds=time_s)).isoformat(),
        "heartbeatSec": beat_s,
        "leaseSec": min(lease_s, time_s),
        "timeSec": time_s,
        "checkpoint": None,
        "alone": False,
        "traceparent": "00-1-1-01",
        "payload": {"n": number},
    } | more


@dataclass(slots=True)
class Pool:
    """Grants what is `ready`, one requestId after another; answers heartbeats and reports as `beats` and `ends` say."""

    server: Scripted
    ready: deque[Json] = field(default_factory=deque)
    granted: dict[str, list[Json]] = field(default_factory=dict)
    beats: Callable[[Asked], Says] = field(default=lambda _: Says(body={"extendUntil": NOON.isoformat()}))
    ends: Callable[[Asked], Says] = field(default=lambda _: Says(body={"status": "DONE"}))
    claims: Callable[[Asked], Says | None] = field(default=lambda _: None)  # says otherwise than a claim would
    hold_s: float = 0.3  # a poll that finds nothing, at most: a stop waits for it
    changed: threading.Condition = field(default_factory=threading.Condition)

    def answer(self, asked: Asked) -> Says:
        """Serve one request."""
        verb = asked.path.rpartition("/")[2]
        says = {"claim": self._claim, "heartbeat": self.beats}.get(verb, self.ends)(asked)
        with self.changed:
            self.changed.notify_all()
        return says

    def _claim(self, asked: Asked) -> Says:
        otherwise = self.claims(asked)
        body = asked.body
        began_s = time.monotonic()
        with self.changed:
            if body["requestId"] not in self.granted:
                if not self.ready and body["waitSec"]:
                    self.changed.wait(min(body["waitSec"], self.hold_s))
                some = [self.ready.popleft() for _ in range(min(body["max"], len(self.ready)))]
                self.granted[body["requestId"]] = some
            executions = self.granted[body["requestId"]]
            return otherwise or Says(body={"executions": executions, "waitedSec": time.monotonic() - began_s})

    def told(self, verb: str) -> list[Asked]:
        """What was asked of one kind so far."""
        return [asked for asked in list(self.server.asked) if asked.path.endswith(f"/{verb}")]

    def reports(self) -> list[tuple[str, str, Json]]:
        """Each report: of which execution, of what kind, and its body."""
        found = []
        for asked in list(self.server.asked):
            execution, verb = asked.path.split("/")[-2:]
            if verb in {"complete", "fail"}:
                found.append((execution, asked.body.get("kind", verb), asked.body))
        return found


@contextmanager
def a_pool(*ready: Json) -> Iterator[Pool]:
    """Serve a pool on a free port."""
    with scripted() as server:
        pool = Pool(server=server, ready=deque(ready))
        server.otherwise = pool.answer
        yield pool


def lost(_: Asked) -> Says:
    """The epoch has risen."""
    return problem(409, "lease_lost")
