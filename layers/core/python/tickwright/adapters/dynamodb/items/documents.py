"""How a job's specification is written as one JSON document: read as a whole by workers, never queried, kept for ever.

A member that is absent has the domain's default, so that old documents stay readable. Must not know a table.
"""

import json
from dataclasses import fields
from typing import Any

from tickwright.domain.jobs import CatchUp, CatchUpMode, JobSpec, Overlap, Target
from tickwright.domain.lanes import Lane
from tickwright.domain.retry import Jitter, RetryPolicy


def spec_to_document(spec: JobSpec) -> str:
    """The document, without the payload."""
    document = {
        "schedule": spec.schedule,
        "source": spec.source,
        "target": {"kind": spec.target.kind, "settings": spec.target.settings},
        "lane": spec.lane.value,
        "retry": _retry_to(spec.retry),
        "timeoutSec": spec.timeout_s,
        "runDeadlineSec": spec.run_deadline_s,
        "overlap": spec.overlap.value,
        "catchup": {
            "mode": spec.catch_up.mode.value,
            "windowSec": spec.catch_up.window_s,
            "onResume": spec.catch_up.on_resume,
            "maxRuns": spec.catch_up.max_runs,
            "ratePerMin": spec.catch_up.rate_per_min,
        },
        "name": spec.name,
        "owner": spec.owner,
        "description": spec.description,
        "tags": spec.tags,
        "secrets": spec.secrets,
    }
    assert len(document) == len(fields(JobSpec)) - 1, "a field of the specification is not written"
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def spec_from_document(text: str, *, payload: str) -> JobSpec:
    """The specification of a document and its payload."""
    document: dict[str, Any] = json.loads(text)
    catch_up = document["catchup"]
    return JobSpec(
        schedule=document["schedule"],
        source=document["source"],
        target=Target(kind=document["target"]["kind"], settings=document["target"]["settings"]),
        payload=payload,
        lane=Lane(document["lane"]),
        retry=_retry_from(document["retry"]),
        timeout_s=document["timeoutSec"],
        run_deadline_s=document.get("runDeadlineSec"),
        overlap=Overlap(document["overlap"]),
        catch_up=CatchUp(
            mode=CatchUpMode(catch_up["mode"]),
            window_s=catch_up["windowSec"],
            on_resume=catch_up["onResume"],
            max_runs=catch_up.get("maxRuns"),
            rate_per_min=catch_up.get("ratePerMin"),
        ),
        name=document.get("name"),
        owner=document.get("owner"),
        description=document.get("description"),
        tags=tuple(document.get("tags", ())),
        secrets=tuple(document.get("secrets", ())),
    )


def _retry_to(retry: RetryPolicy) -> dict[str, object]:
    document: dict[str, object] = {
        "maxAttempts": retry.max_attempts,
        "initialSec": retry.initial_s,
        "factor": retry.factor,
        "maxSec": retry.backoff_s_max,
        "jitter": retry.jitter.value,
        "retryOn": retry.retry_on,
        "giveUpOn": retry.give_up_on,
    }
    assert len(document) == len(fields(RetryPolicy)), "a field of the retry policy is not written"
    return document


def _retry_from(document: dict[str, Any]) -> RetryPolicy:
    return RetryPolicy(
        max_attempts=document["maxAttempts"],
        initial_s=document["initialSec"],
        factor=document["factor"],
        backoff_s_max=document["maxSec"],
        jitter=Jitter(document["jitter"]),
        retry_on=tuple(document["retryOn"]),
        give_up_on=tuple(document["giveUpOn"]),
    )
