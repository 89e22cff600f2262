"""A job as its tenant wrote it: the members from which job_rules.py reads it again, to the letter.

Must not know who is shown them, nor what is hidden of them. Promise: SEM-API-2.
"""

import json
from collections.abc import Mapping
from typing import Any

from tickwright.domain.jobs import CatchUp, JobSpec
from tickwright.domain.retry import RetryPolicy


def members_of(spec: JobSpec) -> dict[str, Any]:
    """All of them."""
    return {**members_but_payload(spec), "payload": json.loads(spec.payload)}


def members_but_payload(spec: JobSpec) -> dict[str, Any]:
    """All but the payload, which may be large."""
    return {
        "name": spec.name,
        "schedule": dict(spec.source),
        "target": {"type": spec.target.kind, **spec.target.settings},
        "retryPolicy": _retry(spec.retry),
        "timeoutSec": spec.timeout_s,
        "runDeadlineSec": spec.run_deadline_s,
        "priority": spec.lane.value,
        "overlap": {"mode": spec.overlap.value},
        "catchup": _catch_up(spec.catch_up),
        "tags": list(spec.tags),
        "owner": spec.owner,
        "description": spec.description,
        "secrets": list(spec.secrets),
    }


def _retry(policy: RetryPolicy) -> Mapping[str, Any]:
    backoff = {
        "initialSec": policy.initial_s,
        "factor": policy.factor,
        "maxSec": policy.backoff_s_max,
        "jitter": policy.jitter.value,
    }
    return {
        "maxAttempts": policy.max_attempts,
        "backoff": backoff,
        "retryOn": list(policy.retry_on),
        "giveUpOn": list(policy.give_up_on),
    }


def _catch_up(catch_up: CatchUp) -> Mapping[str, Any]:
    return {
        "mode": catch_up.mode.value,
        "windowSec": catch_up.window_s,
        "onResume": "catchup" if catch_up.on_resume else "skip",
        "maxRuns": catch_up.max_runs,
        "ratePerMin": catch_up.rate_per_min,
    }
