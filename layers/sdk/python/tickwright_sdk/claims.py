"""What a claim brings, and what is said of it at its end: the API's JSON on the one side, our values on the other.

Must not know how either is sent. No two machines' clocks are compared: a lease and a time limit are durations, counted
from before their claim was sent. Promise: SEM-SDK-11.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tickwright_sdk import limits
from tickwright_sdk.context import Context, Link
from tickwright_sdk.engine_link import Note
from tickwright_sdk.hands import NoRoom
from tickwright_sdk.problems import NoApi
from tickwright_sdk.results import LATER_CLASS, Failed, Later, Result, Succeeded
from tickwright_sdk.tail import Kept

# Of a lease the protocol promises that it is longer than two heartbeats.
_HEARTBEATS_A_LEASE = 2
_NAMES, _NAME_CHARS = 5, 40  # shown of what is no answer
_WORDS = frozenset({"log", "logCut", "result", "error"})  # of a report: what user code has said


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One execution, claimed: what is to be called, and for how long it is ours."""

    execution_id: str
    handler: str
    payload: str
    lease_epoch: int
    attempt: int
    max_attempts: int
    heartbeat_s: float
    lease_s: float  # from the answer on; of one that was asked for again, it is what is left
    lease_s_after: float  # from each heartbeat on
    time_s: float  # how long the attempt may take, from the answer on
    alone: bool  # it may be what ends its workers: to be called where it takes nobody along
    told: Mapping[str, Any]

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Claim":
        """Read one."""
        heartbeat_s, lease_s = float(told["heartbeatSec"]), float(told["leaseSec"])
        return cls(
            execution_id=str(told["executionId"]),
            handler=str(told["handler"]),
            payload=json.dumps(told["payload"]),
            lease_epoch=int(told["leaseEpoch"]),
            attempt=int(told["attempt"]),
            max_attempts=int(told["maxAttempts"]),
            heartbeat_s=heartbeat_s,
            lease_s=lease_s,
            lease_s_after=max(lease_s, _HEARTBEATS_A_LEASE * heartbeat_s),
            time_s=float(told["timeSec"]),
            alone=told.get("alone") is True,
            told=told,
        )

    def context(self, link: Link) -> Context:
        """What its handler is told."""
        return Context.of(dict(self.told), link)

    def heartbeat(self, worker_id: str, note: Note | None) -> dict[str, Any]:
        """The body of a heartbeat."""
        body: dict[str, Any] = {"workerId": worker_id, "leaseEpoch": self.lease_epoch}
        if note is not None and note.progress is not None:
            body["progress"] = note.progress
        if note is not None and note.checkpoint is not None:
            body["checkpoint"] = json.loads(note.checkpoint)
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """What one answer brought. `waited_s`: for how long the request was held before it."""

    claims: Sequence[Claim]
    waited_s: float


def claimed(answer: Mapping[str, Any]) -> Claimed:
    """Read an answer. Raises NoApi for what is none, such as another program's."""
    try:
        claims = [Claim.of(told) for told in answer["executions"]]
        return Claimed(claims=claims, waited_s=float(answer["waitedSec"]))
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise NoApi(f"an answer that tells of no claims: {_shown(answer)}") from fault


def _shown(answer: object) -> str:
    """What it was, without its values."""
    if not isinstance(answer, Mapping):
        return f"JSON that is no object but {type(answer).__name__}"
    names = ", ".join(repr(str(name)[:_NAME_CHARS]) for name in list(answer)[:_NAMES])
    return f"JSON with {names or 'no members'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is reported of an attempt: to `/complete` or to `/fail`."""

    succeeded: bool
    body: dict[str, Any]


def report_of(claim: Claim, result: Result | NoRoom, log: Kept, *, later_s: float = 0.0) -> Said:
    """What a result is as a report; what was not run comes again `later_s` later."""
    body: dict[str, Any] = {"leaseEpoch": claim.lease_epoch}
    if log.text:
        body |= {"log": log.text, "logCut": log.cut}
    match result:
        case Succeeded(result=text):
            return Said(succeeded=True, body=body if text is None else body | {"result": json.loads(text)})
        case Failed(fatal=fatal):
            kind = "fatal" if fatal else "failure"
            return Said(succeeded=False, body=body | {"kind": kind, "error": _error(result)})
        case Later(after_s=after_s, message=message):
            why = {"error": {"class": LATER_CLASS, "message": message[: limits.TRACE_CHARS_MAX]}} if message else {}
            later = {"kind": "retryLater", "afterSec": _bounded(after_s), **why}
            return Said(succeeded=False, body=body | later)
        case NoRoom():
            return Said(succeeded=False, body=body | {"kind": "notRun", "afterSec": later_s})


def without_text(said: Said) -> Said:
    """The same end without what user code said of it: for a report whose text cannot be sent."""
    kept = {name: value for name, value in said.body.items() if name not in _WORDS}
    if "error" in said.body:
        kept["error"] = {"class": "Unsendable", "message": "What the handler said of its end cannot be sent."}
    return Said(succeeded=said.succeeded, body=kept)


def _bounded(after_s: float) -> float:
    """What the API takes: what is more, or no number, would be refused with the whole report."""
    return min(max(after_s, 0.0), limits.RETRY_AFTER_S_MAX) if after_s == after_s else 0.0  # noqa: PLR0124 - NaN


def _error(failed: Failed) -> dict[str, str]:
    """An error has a class: an exception's name is one, and an empty one would be refused with the whole report."""
    return {
        "class": failed.error_class[:128] or "Error",
        "message": failed.message[: limits.TRACE_CHARS_MAX],
        "trace": failed.trace[-limits.TRACE_CHARS_MAX :],
    }
