"""What the page on security leans on is there: tests by name, files by path, rights as they are granted."""

import re

import pytest

from tests.tidy.tree import ROOT
from tools import rights

PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`((?:tests|layers|infra|functions|tools)/[\w./-]+?)(?:::(test_\w+))?`")


def named() -> list[tuple[str, str]]:
    """Each file that the page names, and the test in it if it names one."""
    return sorted(set(NAMED.findall(PAGE.read_text(encoding="utf-8"))))


def test_the_page_leans_on_many_tests() -> None:
    """The check below stands on something."""
    assert len([test for _, test in named() if test]) >= 40


@pytest.mark.parametrize(("path", "test"), named(), ids=lambda value: value or "file")
def test_what_the_page_names_exists(path: str, test: str) -> None:
    """A claim whose test was renamed or removed is a claim without one."""
    place = ROOT / path

    assert place.exists()
    assert not test or re.search(rf"^(?:async )?def {test}\(", place.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_tables_of_rights_are_what_is_granted() -> None:
    """Written by a tool, and forgotten by nobody."""
    assert rights.stale() == []
    assert rights.table().count("\n") > 20
    assert rights.services().count("\n") > 10
