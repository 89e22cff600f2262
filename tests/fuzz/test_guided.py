"""A short guided run at each oracle, and the inputs that fuzzing has found."""

from pathlib import Path

import pytest

from tests.fuzz.oracles import ORACLES, SEEDS
from tests.fuzz.starts import guided

# What the seeds and a little of the search reach: far more of the parser than of the few lines of the decoder.
COVERED_MIN = {"cron": 300, "hint": 20, "member": 15}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_a_few_seconds_of_guided_inputs_break_nothing(name: str, tmp_path: Path) -> None:
    """Cron texts and messages that coverage leads to are refused or read, never a fault; `make fuzz` takes longer."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine: guided fuzzing is left out")

    run = guided(name, tmp_path, seconds=3)

    assert run.status == 0, run.said
    assert run.executed > 100, run.said
    assert run.covered >= COVERED_MIN[name], run.said


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_a_minute_of_guided_inputs_breaks_nothing(name: str, tmp_path: Path) -> None:
    """The same for a minute each."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine: guided fuzzing is left out")

    run = guided(name, tmp_path, seconds=60)

    assert run.status == 0, run.said


@pytest.mark.slow
def test_a_planted_break_is_found(tmp_path: Path) -> None:
    """From seeds without a list the search finds its way to one that the parser accepts."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine: guided fuzzing is left out")

    run = guided("planted", tmp_path, seconds=20)

    assert run.status != 0
    assert "AssertionError" in run.said


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in ORACLES for text in SEEDS[name]])
def test_each_seed_holds_by_itself(name: str, text: str) -> None:
    """Where atheris is not at hand the seeds are judged nevertheless."""
    ORACLES[name](text)

    assert text in SEEDS[name]


@pytest.mark.sem("SEM-QUEUE-4")
@pytest.mark.parametrize("text", ["[" * 100_000, '{"v":' * 50_000, '{"v":1,"executionId":' + "[" * 9_000])
def test_a_message_of_brackets_in_brackets_is_no_hint(text: str) -> None:
    """The decoder refuses what is deeper than it can read, and does not fall over it."""
    for check in ORACLES.values():
        check(text)

    assert text.count("[") + text.count("{") > 1_000
