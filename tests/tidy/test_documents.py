"""The documents name files and commands that exist."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.scenarios.__main__ import SCENARIOS
from tests.tidy.tree import ROOT, Source, texts

DOCUMENTS = [source for source in texts() if source.name.endswith(".md")]
MAKE = re.compile(r"(?:^|[\s`(;&])make ((?:[a-z][a-z0-9-]*(?: |(?=[^\w-])|$))+)", re.MULTILINE)
TARGET = re.compile(r"^([a-z][a-z0-9-]*):(?!=)", re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
# Those whose arguments a parser reads: it can be asked what it makes of them without doing what they say.
PARSED = re.compile(r"`(make (?:sim|scenario|fuzz)(?: [A-Z]+=(?!name)[\w.-]+)*)`")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def targets() -> set[str]:
    """Every target of the Makefile."""
    return set(TARGET.findall((ROOT / "Makefile").read_text()))


def test_the_documents_are_found() -> None:
    """The other checks stand on something."""
    assert DOCUMENTS
    assert {"run", "test", "check"} <= targets()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_make_target_in_a_document_exists(document: Source) -> None:
    """A reader who types what the page says gets what it says."""
    code = "\n".join(CODE.findall(document.text))
    named = {word for words in MAKE.findall(code) for word in words.split()}

    assert sorted(named - targets()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_link_in_a_document_leads_to_a_file(document: Source) -> None:
    """A link inside the repository points to something that is there."""
    here = ROOT / PurePosixPath(document.name).parent
    broken = [link for link in _links(document) if not (here / link).exists()]

    assert broken == []


def test_every_target_says_what_it_does() -> None:
    """`make help` lists every target with one line."""
    makefile = (ROOT / "Makefile").read_text()
    explained = set(re.findall(r"^([a-z][a-z0-9-]*):.*## \S", makefile, re.MULTILINE))

    assert sorted(targets() - explained) == []


def test_every_module_that_make_starts_exists() -> None:
    """Whatever the Makefile gives to `python -m` is a module of this repository or an installed tool."""
    started = set(re.findall(r"\$\(PY\) -m ([\w.]+)", (ROOT / "Makefile").read_text())) - {"pytest"}

    assert sorted(name for name in started if not _is_module(name)) == []


def commands() -> list[str]:
    """What the page on testing tells its readers to type."""
    return sorted(set(PARSED.findall((ROOT / "docs" / "testing.md").read_text())))


@pytest.mark.parametrize("command", commands())
def test_the_programs_take_the_arguments_that_make_gives_them(command: str) -> None:
    """A default of one target must not reach another: `make scenario NAME=spike` once asked for the size `fast`."""
    # A make that starts this test leaves its own flags behind, and would have this one tell where it goes.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    told = subprocess.run(
        [*shlex.split(command), "ARGS=--help", "-n"], cwd=ROOT, env=outside, capture_output=True, text=True, check=True
    ).stdout
    module, *arguments = shlex.split(told.splitlines()[-1].partition(" -m ")[2])
    roots = (ROOT / "layers" / "core" / "python", ROOT / "layers" / "sdk" / "python", ROOT)
    path = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, roots))}
    asked = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, env=path, capture_output=True, text=True, check=False
    )

    assert (asked.returncode, asked.stderr) == (0, "")


def test_commands_with_arguments_are_found() -> None:
    """The test above stands on something."""
    assert "make scenario NAME=spike" in commands()


@pytest.mark.parametrize("place", ["Makefile", "docs/scenarios.md", "docs/testing.md"])
def test_whoever_tells_of_scenarios_names_each(place: str) -> None:
    """In the line of `make help`, and where the pages say what to type."""
    (line, *_) = [one for one in (ROOT / place).read_text().splitlines() if "db-failover" in one]

    assert [name for name in SCENARIOS if name not in line] == []


def test_a_stage_that_make_is_told_is_the_one_that_is_synthesised() -> None:
    """It made dev's templates, whatever STAGE said, and exited with 0."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    told = subprocess.run(
        ["make", "-n", "synth", "STAGE=staging"], cwd=ROOT, env=outside, capture_output=True, text=True, check=True
    ).stdout

    assert told.splitlines()[-1].startswith("TICKWRIGHT_STAGE=staging ")


def _links(document: Source) -> list[str]:
    outside_code = CODE.sub("", document.text)
    return [link for link in LINK.findall(outside_code) if "://" not in link and not link.startswith("mailto:")]


def _is_module(name: str) -> bool:
    path = Path(*name.split("."))
    roots = (ROOT, ROOT / "layers" / "core" / "python", ROOT / "layers" / "sdk" / "python")
    return any((root / path).with_suffix(".py").is_file() or (root / path / "__main__.py").is_file() for root in roots)
