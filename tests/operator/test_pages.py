"""Does the operator's program take what the pages tell an operator to type?"""

import re
import shlex

import pytest

from tests.tidy.tree import ROOT
from tickwright.operator.__main__ import COMMANDS, parser

TYPED = re.compile(r'make (?:-s )?operate (?:STAGE=(\w+) )?ARGS="([^"]+)"')
SET_BEFORE = {"$T": "2026-11-30T12:00:00Z", "$url": "https://sqs.eu-central-1.amazonaws.com/123456789012/old"}
PAGES = sorted((ROOT / "docs").glob("*.md"))
LINES = sorted(
    {
        (page.name, stage, words)
        for page in PAGES
        for stage, words in TYPED.findall(page.read_text("utf-8"))
        if words not in {"--help", "..."}
    }
)


def asked(stage: str, words: str) -> list[str]:
    """What make and the shell make of it."""
    for name, value in SET_BEFORE.items():
        words = words.replace(name, value)
    return [*shlex.split(words), *(["--stage", stage] if stage else [])]


@pytest.mark.parametrize(("page", "stage", "words"), LINES)
def test_every_command_of_a_page_is_understood(page: str, stage: str, words: str) -> None:
    """By the parser that would read it."""
    told = asked(stage, words)

    assert parser().parse_args(told).command.words == tuple(told[:2]), page


def test_every_command_but_those_of_make_key_stands_on_a_page() -> None:
    """Whoever operates an installation finds each where it is explained."""
    typed = {tuple(asked(stage, words)[:2]) for _, stage, words in LINES}

    assert {command.words for command in COMMANDS} - typed == {("keys", "make")}
