"""Do we answer as independent engines and Debian's own daemon do, on every recorded case?"""

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.cron_vectors import FILES, Answer, main, replay

VECTORS, VALIDITY = FILES
TICK_KINDS = (
    *("aliases", "basic", "big_fold", "big_gap", "dom_dow", "dst_fold", "dst_gap", "end_of_month", "epoch_edges"),
    *("extensions", "far_future", "leap", "odd_spelling", "six_field", "strictly_after", "y2100", "year_rollover"),
)
VALIDITY_KINDS = (
    *("bad_alias", "bad_extension", "bad_list", "bad_name", "bad_range", "bad_step", "field_count", "hash_bad"),
    *("hostile", "impossible_date", "junk_mix", "not_a_number", "odd_spelling", "odd_value", "out_of_range"),
    *("overflow", "rare_date", "reversed_range", "too_long", "unicode", "zero_step"),
)


@cache
def answers(path: Path) -> dict[str, list[Answer]]:
    """The replay of a file by kind, made once."""
    found: dict[str, list[Answer]] = defaultdict(list)
    for answer in replay(path):
        found[answer.kind].append(answer)
    return found


@pytest.mark.sem("SEM-SCHED-3", "SEM-SCHED-9")
@pytest.mark.parametrize("kind", TICK_KINDS)
def test_ticks_are_those_that_independent_engines_agree_on(kind: str) -> None:
    """Each recorded list of next ticks comes out the same, instant by instant."""
    found = answers(VECTORS)[kind]

    assert found
    assert [answer for answer in found if not answer.passed] == []


@pytest.mark.sem("SEM-SCHED-2", "SEM-SCHED-4")
@pytest.mark.parametrize("kind", VALIDITY_KINDS)
def test_expressions_are_accepted_and_refused_as_recorded(kind: str) -> None:
    """Each recorded expression is accepted or refused as its row says."""
    found = answers(VALIDITY)[kind]

    assert found
    assert [answer for answer in found if not answer.passed] == []


def test_no_recorded_case_is_left_out() -> None:
    """The kinds tested above are all that the files hold, and no row went missing."""
    assert set(answers(VECTORS)) == set(TICK_KINDS)
    assert set(answers(VALIDITY)) == set(VALIDITY_KINDS)
    assert sum(map(len, answers(VECTORS).values())) == 2_004
    assert sum(map(len, answers(VALIDITY).values())) == 380


def test_the_replay_command_fails_on_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One wrong expectation in a file ends the command with status 1 and shows the row."""
    good = next(line for line in VALIDITY.read_text("utf-8").splitlines() if '"expect": "reject"' in line)
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(good.replace('"expect": "reject"', '"expect": "accept"') + "\n", "utf-8")

    status = main([str(wrong)])

    assert status == 1
    assert "0 passed, 1 failed" in capsys.readouterr().out
