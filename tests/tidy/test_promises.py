"""Every promise of docs/semantics.md is carried by a test, and no test carries a promise that was never made."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.tidy.tree import ROOT, python_under, texts

SEMANTICS = ROOT / "docs" / "semantics.md"
PROMISE = re.compile(r"\bSEM-[A-Z]+(?:-[A-Z]+)*-[0-9]+\b")


@pytest.fixture(scope="module")
def promised() -> set[str]:
    """The ids that the page defines."""
    found = set(PROMISE.findall(SEMANTICS.read_text()))
    assert found, "docs/semantics.md promises nothing"
    return found


def test_every_promise_is_carried_by_a_test(promised: set[str]) -> None:
    """Each SEM- id of the page is named by at least one test's `sem` marker."""
    assert sorted(promised - set(_carried())) == []


def test_no_test_carries_a_promise_that_was_never_made(promised: set[str]) -> None:
    """Each id of a `sem` marker stands on the page."""
    assert sorted(set(_carried()) - promised) == []


def test_no_file_names_a_promise_that_was_never_made(promised: set[str]) -> None:
    """A docstring that points to a promise points to one that exists."""
    elsewhere = {
        f"{source.name} {name}"
        for source in texts()
        if not source.name.startswith("tests/tidy/")
        for name in set(PROMISE.findall(source.text)) - promised
    }

    assert sorted(elsewhere) == []


def _carried() -> Iterator[str]:
    for source in python_under("tests/"):
        for node in source.walk():
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.sem"):
                yield from (str(id_.value) for id_ in node.args if isinstance(id_, ast.Constant))
