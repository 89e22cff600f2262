"""From a job as JSON to a job that the scheduler can keep: the rules beyond types and unknown fields.

Must not know HTTP: the shape has been checked before. Every problem names its field and says what to change.
Promises: SEM-JOB-3, SEM-API-1.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tickwright.domain import limits
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import CatchUp, CatchUpMode, JobSpec, Overlap
from tickwright.domain.lanes import Lane
from tickwright.domain.limits import STANDARD
from tickwright.domain.outcomes import FieldProblem
from tickwright.domain.problems import Problems
from tickwright.domain.retry import Jitter, RetryPolicy
from tickwright.domain.schedules import HashIdentity, OneOff, Schedule, ScheduleRefused, compact, parse, refuse_if_never
from tickwright.domain.secrets import read_secrets
from tickwright.domain.target_rules import payload_bytes_max, read_target

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
LANES_FOR_TENANTS = (Lane.HIGH, Lane.NORMAL, Lane.LOW)


class JobRefused(ValueError):  # noqa: N818 - an outcome that needs the way of an exception
    """The job cannot be kept as it is; `errors` says all that is wrong with it."""

    def __init__(self, errors: Sequence[FieldProblem]) -> None:
        """Say what is wrong."""
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{e.pointer}: {e.message}" for e in self.errors))


def read_spec(body: Mapping[str, object], *, identity: HashIdentity, now: Instant) -> JobSpec:
    """The job that a body describes. Raises JobRefused with all problems."""
    problems = Problems()
    schedule = _schedule(problems, _mapping(body.get("schedule")), identity, now)
    catch_up = _catch_up(problems, _mapping(body.get("catchup")), schedule)
    spec = _spec(problems, body, schedule, catch_up)
    if problems.found or spec is None:
        raise JobRefused(problems.found)
    return spec


def read_schedule(source: Mapping[str, object], *, identity: HashIdentity, now: Instant) -> Schedule:
    """A job's schedule alone, by the rules of the whole job. Raises JobRefused with all problems."""
    problems = Problems()
    schedule = _schedule(problems, source, identity, now)
    if problems.found or schedule is None:
        raise JobRefused(problems.found)
    return schedule


def _spec(
    problems: Problems, body: Mapping[str, object], schedule: Schedule | None, catch_up: CatchUp
) -> JobSpec | None:
    lanes = {lane.value: lane for lane in LANES_FOR_TENANTS}
    overlap = _mapping(body.get("overlap")).get("mode")
    target = read_target(problems, _mapping(body.get("target")))
    bytes_max = payload_bytes_max(target)
    payload = json.dumps(body.get("payload"), separators=(",", ":"), ensure_ascii=False)
    if (size := len(payload.encode())) > bytes_max:
        advice = f"it has {size} bytes, the limit is {bytes_max}; store it elsewhere and pass a reference."
        problems.add("/payload", "too_large", advice)
    values: dict[str, Any] = {
        "source": dict(_mapping(body.get("schedule"))),
        "target": target,
        "payload": payload,
        "lane": problems.choice("/priority", body.get("priority"), lanes, Lane.NORMAL),
        "retry": _retry(problems, _mapping(body.get("retryPolicy"))),
        "timeout_s": problems.number(
            "/timeoutSec", body.get("timeoutSec"), 1, limits.TIMEOUT_S_MAX, limits.TIMEOUT_S_DEFAULT
        ),
        "run_deadline_s": problems.number(
            "/runDeadlineSec", body.get("runDeadlineSec"), 1, limits.RUN_DEADLINE_S_MAX, None
        ),
        "overlap": problems.choice("/overlap/mode", overlap, {o.value: o for o in Overlap}, Overlap.SKIP),
        "catch_up": catch_up,
        "secrets": read_secrets(problems, body.get("secrets"), target=target, payload=body.get("payload")),
        **_words(problems, body),
    }
    return None if schedule is None else JobSpec(schedule=compact(schedule), **values)


def _schedule(
    problems: Problems, source: Mapping[str, object], identity: HashIdentity, now: Instant
) -> Schedule | None:
    try:
        schedule = parse(source, identity=identity)
        # A caller's clock and the way here take a moment: "now" is not the past.
        refuse_if_never(schedule, Instant(now - STANDARD.missed_after_ms))
    except ScheduleRefused as refused:
        for error in refused.errors:
            problems.add(f"/schedule{error.pointer}", error.code, error.message)
        return None
    if (size := len(compact(schedule).encode())) > limits.SCHEDULE_BYTES_MAX:
        advice = f"its stored form has {size} bytes, the limit is {limits.SCHEDULE_BYTES_MAX}; make several jobs of it."
        problems.add("/schedule", "too_large", advice)
    return schedule


def _catch_up(problems: Problems, source: Mapping[str, object], schedule: Schedule | None) -> CatchUp:
    one_off = schedule is not None and isinstance(schedule.kind, OneOff)
    mode = CatchUpMode.ALL if one_off else CatchUpMode.LATEST
    window_s = limits.ONE_OFF_WINDOW_S_DEFAULT if one_off else limits.CATCHUP_WINDOW_S_DEFAULT
    modes = {m.value: m for m in CatchUpMode}
    at = "/catchup"
    chosen = problems.choice(f"{at}/mode", source.get("mode"), modes, mode)
    max_runs = _of_all(problems, source, "maxRuns", limits.CATCHUP_RUNS_MAX, chosen)
    rate_per_min = _of_all(problems, source, "ratePerMin", limits.CATCHUP_RATE_MAX, chosen)
    return CatchUp(
        mode=chosen,
        window_s=round(
            problems.number(f"{at}/windowSec", source.get("windowSec"), 60, limits.CATCHUP_WINDOW_S_MAX, window_s)
        ),
        on_resume=problems.choice(
            f"{at}/onResume", source.get("onResume"), {"skip": False, "catchup": True}, default=False
        ),
        max_runs=max_runs,
        rate_per_min=rate_per_min,
    )


def _of_all(problems: Problems, source: Mapping[str, object], name: str, highest: int, mode: CatchUpMode) -> int | None:
    """A member that means something only where all missed ticks are made up."""
    at = f"/catchup/{name}"
    value: int | None = problems.number(at, source.get(name), 1, highest, None)
    if value is not None and mode is not CatchUpMode.ALL:
        advice = f"{name} belongs to mode all; set that mode, or leave it out."
        problems.add(at, "not_applicable", advice)
    return value


def _retry(problems: Problems, source: Mapping[str, object]) -> RetryPolicy:
    backoff = _mapping(source.get("backoff"))
    at = "/retryPolicy"
    usual = RetryPolicy()
    top = limits.BACKOFF_S_MAX
    initial_s = problems.number(f"{at}/backoff/initialSec", backoff.get("initialSec"), 0, top, usual.initial_s)
    max_s = problems.number(f"{at}/backoff/maxSec", backoff.get("maxSec"), 0, top, max(usual.backoff_s_max, initial_s))
    if max_s < initial_s:
        problems.add(
            f"{at}/backoff/maxSec", "out_of_range", "maxSec is under initialSec; raise it or lower initialSec."
        )
        max_s = initial_s
    return RetryPolicy(
        max_attempts=round(
            problems.number(f"{at}/maxAttempts", source.get("maxAttempts"), 1, limits.ATTEMPTS_MAX, usual.max_attempts)
        ),
        initial_s=float(initial_s),
        factor=float(problems.number(f"{at}/backoff/factor", backoff.get("factor"), 1, 100, usual.factor)),
        backoff_s_max=float(max_s),
        jitter=problems.choice(
            f"{at}/backoff/jitter", backoff.get("jitter"), {j.value: j for j in Jitter}, usual.jitter
        ),
        retry_on=_names(problems, f"{at}/retryOn", source.get("retryOn")),
        give_up_on=_names(problems, f"{at}/giveUpOn", source.get("giveUpOn")),
    )


def _words(problems: Problems, body: Mapping[str, object]) -> dict[str, object]:
    name = body.get("name")
    if name is not None and (len(str(name)) > limits.NAME_CHARS_MAX or not _NAME.fullmatch(str(name))):
        advice = f"use up to {limits.NAME_CHARS_MAX} letters, digits and . _ : / -, beginning with a letter or a digit."
        problems.add("/name", "invalid_name", f"{str(name)[:100]!r} is not a name; {advice}")
    for field, most in (("owner", limits.TAG_CHARS_MAX), ("description", limits.DESCRIPTION_CHARS_MAX)):
        if len(str(body.get(field) or "")) > most:
            problems.add(f"/{field}", "too_large", f"it has over {most} characters; shorten it.")
    tags = _names(problems, "/tags", body.get("tags"))
    return {"name": name, "owner": body.get("owner"), "description": body.get("description"), "tags": tags}


def _names(problems: Problems, at: str, value: object) -> tuple[str, ...]:
    words = tuple(str(word) for word in cast("Sequence[object]", value or ()))
    if len(words) > limits.TAGS_MAX or any(not word or len(word) > limits.TAG_CHARS_MAX for word in words):
        advice = f"at most {limits.TAGS_MAX} entries of 1 to {limits.TAG_CHARS_MAX} characters; remove or shorten some."
        problems.add(at, "out_of_range", advice)
        return ()
    return words


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
