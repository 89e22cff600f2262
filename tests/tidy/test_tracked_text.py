"""What must not stand in any tracked file: addresses of registries, paths of one machine, work left for later."""

import re

import pytest

from tests.tidy.tree import texts

# This file shows each pattern something to find.
SAMPLES = "tests/tidy/test_tracked_text.py"
REGISTRY = re.compile(
    r"https?://[\w.-]*(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|registry\.[\w.-]+|artifactory|codeartifact)"
    r"|--(?:extra-)?index-url[= ]\S|\bindex-url\s*=|registry\s*=\s*https?:",
    re.IGNORECASE,
)
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:root|home/\w+|Users/\w+|work|mnt/\w+)/[\w.]")
LEFT_OPEN = re.compile(r"\b(?:T[O]DO|FIX[M]E|X[X]X|HA[C]K)\b")
STRIPS_ASSERTIONS = re.compile(r"PYTHONOPTIMIZE\W*[=:]\s*\W*[1-9]|python3?(?:\.\d+)? -O")


def test_no_file_names_a_package_registry() -> None:
    """Where packages come from is the machine's business: locks hold versions and hashes only."""
    assert _found(REGISTRY) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    """A path under somebody's home or work folder holds on one machine only."""
    assert _found(MACHINE_PATH) == []


def test_no_file_leaves_work_for_later() -> None:
    """Work that is left is an issue; a mark in the code is forgotten."""
    assert _found(LEFT_OPEN) == []


def test_assertions_are_never_switched_off() -> None:
    """The code relies on its assertions, so nothing sets the variable or the option that strips them."""
    # A test may show that the check of the deployed environment refuses it.
    found = [place for place in _found(STRIPS_ASSERTIONS) if not place.startswith("tests/")]

    assert __debug__
    assert found == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (REGISTRY, "https://registry.example.net/simple"),
        (REGISTRY, "pip install --index-url x"),
        (MACHINE_PATH, "see /home/somebody/notes"),
        (LEFT_OPEN, "# todo later".upper()),
        (STRIPS_ASSERTIONS, "PYTHONOPTIMIZE=1"),
    ],
)
def test_each_pattern_finds_what_it_is_for(pattern: re.Pattern[str], line: str) -> None:
    """A pattern that matches nothing would let everything pass."""
    assert pattern.search(line)


@pytest.mark.parametrize("path", ["/v1/jobs/run/x", "cdk.out/work/x", "/opt/python/lib", "/home/", "$ROOT/work/x"])
def test_other_paths_pass(path: str) -> None:
    """Routes, relative paths and the folders of every Lambda are nobody's machine."""
    assert not MACHINE_PATH.search(path)


def _found(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{source.name}:{number} {match.group()}"
        for source in texts()
        if source.name != SAMPLES
        for number, line in enumerate(source.lines, start=1)
        if (match := pattern.search(line))
    ]
