"""How dead letters and orders look from outside.

Must not decide anything. Promise: SEM-API-2.
"""

import json

from tickwright.api.dead_letter_answers import (
    CanaryJson,
    DeadFilterJson,
    DeadGroupJson,
    DeadLetterJson,
    DeadLetterSummaryJson,
    DryRunJson,
    RedriveOrderJson,
)
from tickwright.api.etags import etag_of
from tickwright.api.exchange import as_json
from tickwright.api.views import execution_json, execution_summary_json, time_json
from tickwright.domain.dead_letters import DeadFilter, DeadGroup, fingerprint_of
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.redrive_orders import Order
from tickwright.domain.secrets import masked
from tickwright.domain.shown import Shown
from tickwright.services.dead_letters import Counted, DeadLetter


def dead_letter_summary_json(execution: Shown) -> DeadLetterSummaryJson:
    """One in a list."""
    return {"fingerprint": fingerprint_of(execution), "execution": execution_summary_json(execution)}


def dead_letter_json(letter: DeadLetter) -> DeadLetterJson:
    """One, with what it was given."""
    spec = None if letter.spec is None else masked(letter.spec)
    return {
        "fingerprint": fingerprint_of(letter.execution),
        "execution": execution_json(letter.execution),
        "jobName": None if spec is None else spec.name,
        "payload": None if spec is None else json.loads(spec.payload),
    }


def dead_group_json(group: DeadGroup) -> DeadGroupJson:
    """A group."""
    return {
        "fingerprint": group.fingerprint,
        "reason": None if group.reason is None else group.reason.value,
        "class": group.error_class,
        "message": group.message,
        "count": group.count,
        "jobs": group.jobs,
        "jobIds": list(group.some_jobs),
        "firstDiedAt": to_rfc3339(group.first_died_at),
        "lastDiedAt": to_rfc3339(group.last_died_at),
        "executionIds": [ref.id for ref in group.sample],
    }


def dry_run_json(counted: Counted) -> DryRunJson:
    """What an order would begin with."""
    sample = [execution_summary_json(execution) for execution in counted.sample]
    return {"count": counted.count, "truncated": not counted.exact, "sample": sample}


def order_json(order: Order) -> RedriveOrderJson:
    """An order and how far it is."""
    shown: RedriveOrderJson = {
        "orderId": order.order_id,
        "status": order.status.value,
        "filter": _filter(order.wanted),
        "ratePerMin": order.rate_per_min,
        "canary": _canary(order),
        "createdAt": to_rfc3339(order.created_at),
        "endedAt": time_json(order.ended_at),
        "redriven": order.redriven,
        "waiting": order.put_off,
        "refused": order.refused,
        "etag": "",
    }
    shown["etag"] = etag_of(as_json(shown))
    return shown


def _filter(wanted: DeadFilter) -> DeadFilterJson:
    return {
        "jobId": wanted.job_id,
        "fingerprint": wanted.fingerprint,
        "errorClass": wanted.error_class,
        "reason": None if wanted.reason is None else wanted.reason.value,
        "since": time_json(wanted.since),
        "until": time_json(wanted.until),
    }


def _canary(order: Order) -> CanaryJson | None:
    if order.canary is None:
        return None
    return {
        "first": order.canary.first,
        "failuresMax": order.canary.failures_max,
        "passed": order.canary_over,
        "ended": order.canary_ended,
        "died": order.canary_died,
    }
