"""From a job as JSON to a job: defaults, and every refusal with its field."""

from typing import Any

import pytest

from tickwright.domain import limits
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_members import members_of
from tickwright.domain.job_rules import JobRefused, read_spec
from tickwright.domain.jobs import CatchUpMode, JobSpec, Overlap
from tickwright.domain.lanes import Lane
from tickwright.domain.schedules import HashIdentity

_NOW = Instant(1_767_225_600_000)
_TARGET = {"type": "http", "url": "https://example.com/run"}


def _read(**body: Any) -> JobSpec:  # noqa: ANN401 - JSON
    whole = {"schedule": {"every": "PT1H"}, "target": _TARGET} | body
    return read_spec(whole, identity=HashIdentity("acme", "job"), now=_NOW)


def _pointers(**body: Any) -> list[str]:  # noqa: ANN401 - JSON
    with pytest.raises(JobRefused) as refused:
        _read(**body)
    assert all(problem.message for problem in refused.value.errors)
    return [problem.pointer for problem in refused.value.errors]


@pytest.mark.sem("SEM-JOB-3")
def test_a_job_of_schedule_and_target_alone_has_the_documented_defaults() -> None:
    """Semantics 1 to 5."""
    spec = _read()

    assert (spec.lane, spec.overlap, spec.timeout_s, spec.run_deadline_s) == (Lane.NORMAL, Overlap.SKIP, 300, None)
    assert (spec.catch_up.mode, spec.catch_up.window_s, spec.catch_up.on_resume) == (CatchUpMode.LATEST, 3_600, False)
    assert (spec.retry.max_attempts, spec.retry.initial_s, spec.retry.backoff_s_max) == (3, 10, 3_600)
    assert (spec.payload, spec.tags, spec.name) == ("null", (), None)


@pytest.mark.sem("SEM-JOB-3")
def test_a_one_off_is_caught_up_for_a_day() -> None:
    """It would otherwise be dropped in silence."""
    spec = _read(schedule={"runAt": to_rfc3339(Instant(_NOW + 1_000))})

    assert (spec.catch_up.mode, spec.catch_up.window_s) == (CatchUpMode.ALL, 86_400)


@pytest.mark.sem("SEM-JOB-3")
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"schedule": {}}, "/schedule"),
        ({"schedule": {"runAt": to_rfc3339(Instant(_NOW - 61_000))}}, "/schedule/runAt"),
        ({"schedule": {"cron": "61 * * * *"}}, "/schedule/cron"),
        ({"schedule": {"cron": "* * * * *", "timezone": "Mars/Olympus"}}, "/schedule/timezone"),
        ({"schedule": {"cron": "0 0 30 2 *"}}, "/schedule/cron"),
        ({"schedule": {"cron": [f"{n},{n + 20},{n + 40} {n} * 1-6 *" for n in range(20)]}}, "/schedule"),
        ({"target": {"type": "carrier-pigeon"}}, "/target/type"),
        ({"target": {"type": "http", "url": "ftp://example.com"}}, "/target/url"),
        ({"target": {"type": "http", "url": "https://user:secret@example.com/"}}, "/target/url"),
        ({"target": {"type": "http", "url": "https://example.com/" + "x" * 2_100}}, "/target/url"),
        ({"target": {"type": "python", "handler": "no spaces"}}, "/target/handler"),
        ({"payload": "x" * limits.PAYLOAD_BYTES_MAX}, "/payload"),
        ({"payload": "\u00e9" * (limits.PAYLOAD_BYTES_MAX // 2)}, "/payload"),
        ({"timeoutSec": 0}, "/timeoutSec"),
        ({"timeoutSec": limits.TIMEOUT_S_MAX + 1}, "/timeoutSec"),
        ({"runDeadlineSec": 0}, "/runDeadlineSec"),
        ({"retryPolicy": {"maxAttempts": 0}}, "/retryPolicy/maxAttempts"),
        ({"retryPolicy": {"maxAttempts": 101}}, "/retryPolicy/maxAttempts"),
        ({"retryPolicy": {"backoff": {"initialSec": 60, "maxSec": 5}}}, "/retryPolicy/backoff/maxSec"),
        ({"retryPolicy": {"retryOn": ["x"] * 21}}, "/retryPolicy/retryOn"),
        ({"catchup": {"windowSec": 59}}, "/catchup/windowSec"),
        ({"name": "no spaces"}, "/name"),
        ({"name": "x" * 129}, "/name"),
        ({"tags": [""]}, "/tags"),
        ({"description": "x" * 1_025}, "/description"),
    ],
)
def test_a_job_that_breaks_a_rule_is_refused_at_its_field(body: dict[str, Any], pointer: str) -> None:
    """Sizes are measured in bytes (B154), past instants with a minute's grace."""
    assert any(found.startswith(pointer) for found in _pointers(**body))


@pytest.mark.sem("SEM-JOB-3")
def test_all_that_is_wrong_is_said_at_once() -> None:
    """A user mends a job in one go."""
    found = _pointers(name="?", timeoutSec=0, target={"type": "http", "url": "nonsense"})

    assert found == ["/target/url", "/timeoutSec", "/name"]


@pytest.mark.sem("SEM-JOB-1")
def test_the_head_keeps_a_short_form_and_the_definition_the_words() -> None:
    """H is resolved in the first, and stands as it was written in the second."""
    spec = _read(schedule={"cron": "H H * * *"})

    assert "H" not in spec.schedule
    assert spec.source == {"cron": "H H * * *"}


@pytest.mark.sem("SEM-API-2")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {
            "payload": {"a": [1, 2.5, "ü", None]},
            "secrets": ["/payload/a"],
            "name": "nightly",
            "tags": ["x"],
            "owner": "o",
        },
        {"schedule": {"cron": "H H * * *", "window": 60}, "priority": "low", "overlap": {"mode": "allow"}},
        {"catchup": {"mode": "all", "maxRuns": 3, "ratePerMin": 6, "windowSec": 60, "onResume": "catchup"}},
        {
            "retryPolicy": {
                "maxAttempts": 9,
                "backoff": {"initialSec": 1, "factor": 3, "jitter": "none"},
                "retryOn": ["E"],
            }
        },
        {"timeoutSec": 5, "runDeadlineSec": 60, "target": _TARGET | {"headers": {"X-Key": "k"}}},
    ],
)
def test_a_job_is_read_again_from_its_members(body: dict[str, Any]) -> None:
    """To the letter, whatever it has."""
    spec = _read(**body)

    assert _read(**members_of(spec)) == spec
