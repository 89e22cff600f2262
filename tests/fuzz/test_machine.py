"""Sequences of operations, chosen by Hypothesis, leave what a small model expects."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fuzz.machine import JobsMachine, Model

_CALM = (HealthCheck.too_slow, HealthCheck.filter_too_much)
SHORT = settings(max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=_CALM)
LONG = settings(max_examples=1_000, stateful_step_count=40, deadline=None, suppress_health_check=_CALM)


@pytest.mark.slow
@pytest.mark.sem("SEM-PAUSE-1", "SEM-EDIT-1", "SEM-CANCEL-1", "SEM-IDEM-1", "SEM-TICK-1")
def test_any_operations_leave_the_ticks_that_the_model_expects() -> None:
    """Each tick well inside a schedule ran once; none ran that no schedule names."""
    JobsMachine.seen.clear()

    run_state_machine_as_test(JobsMachine, settings=SHORT)

    assert JobsMachine.seen["ticks"] > 50, JobsMachine.seen
    assert all(JobsMachine.seen[what] for what in ("ACTIVE", "PAUSED", "CANCELLED", "edits", "asked for"))


@pytest.mark.nightly
@pytest.mark.sem("SEM-PAUSE-1", "SEM-EDIT-1", "SEM-CANCEL-1", "SEM-IDEM-1", "SEM-TICK-1")
def test_long_sequences_leave_the_ticks_that_the_model_expects() -> None:
    """The same, a thousand times and longer."""
    JobsMachine.seen.clear()

    run_state_machine_as_test(JobsMachine, settings=LONG)

    assert JobsMachine.seen["ticks"] > 5_000, JobsMachine.seen


@pytest.mark.slow
def test_the_model_finds_a_tick_that_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model that expects a tick of every half minute, the same operations fail."""
    must = Model.must
    monkeypatch.setattr(Model, "must", lambda job, now_ms: {tick + 30_000 for tick in must(job, now_ms)})

    with pytest.raises(AssertionError, match="did not run"):
        run_state_machine_as_test(JobsMachine, settings=settings(SHORT, phases=(Phase.generate,)))
