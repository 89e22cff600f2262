"""The models of the protocol give the verdicts that their rows expect, with every guard and without each."""

import os

import pytest

from tests.support.emulators.installed import give_up_on
from tools.models import HOLDS, LONGEST_S, Row, check, check_all, install, missing_java, rows

ROWS = tuple(rows())
FAST = tuple(row for row in ROWS if not row.night)


@pytest.fixture(scope="module", autouse=True)
def model_checker() -> None:
    """TLC, where Java is."""
    if (missing := missing_java()) is not None:
        give_up_on("TLC", missing)
    install()


@pytest.mark.slow
@pytest.mark.sem(
    "SEM-TICK-1", "SEM-TICK-2", "SEM-JOURNAL-1", "SEM-JOURNAL-2", "SEM-JOURNAL-4", "SEM-FENCE-1", "SEM-CANCEL-1"
)
def test_every_fast_row_comes_out_as_it_says() -> None:
    """What holds holds in every state, and each guard is needed: without it the named promise breaks."""
    verdicts = list(check_all(FAST, LONGEST_S["fast"], jobs=os.cpu_count() or 1))

    assert [f"{verdict.row.title}: {verdict.found}" for verdict in verdicts if not verdict.is_expected] == []


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted({row.module for row in ROWS}))
def test_a_wrong_expectation_is_noticed(module: str) -> None:
    """A row that is known to break is no row that holds: the runner does not say what it is told."""
    broken = next(row for row in FAST if row.module == module and row.expects != HOLDS)

    claims_to_hold = Row(**{name: getattr(broken, name) for name in Row.__slots__} | {"expects": HOLDS})

    assert not check(claims_to_hold, LONGEST_S["fast"]).is_expected


def test_every_guard_is_taken_out_by_some_row() -> None:
    """A guard whose absence breaks nothing is not needed, or not modelled."""
    untested = [f"{row.module}.{name}" for row in ROWS for name in _guards(row) - _taken_out(row.module)]

    assert sorted(set(untested)) == []


def _guards(row: Row) -> set[str]:
    """What is TRUE in every row that holds."""
    holding = [other for other in ROWS if other.module == row.module and other.expects == HOLDS]
    return {name for name in row.constants if all(other.constants[name] is True for other in holding)}


def _taken_out(module: str) -> set[str]:
    breaking = [row for row in ROWS if row.module == module and row.expects != HOLDS]
    return {name for row in breaking for name, value in row.constants.items() if value is False}
