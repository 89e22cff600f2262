"""The locks pin every package by version and hash, hold no address, and agree with their sources and each other."""

import json
import re
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT

SOURCES = sorted([*ROOT.glob("requirements/*.in"), ROOT / "layers" / "deps" / "requirements.in"])
LOCKS = [source.with_suffix(".lock") for source in SOURCES]
# Resolved by itself: it pins its own botocore.
APART = {ROOT / "requirements" / "ministack.lock"}
PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)
NAMED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?(==[^\s;]+)?(?:; .+)?$")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_has_a_version_and_a_hash(lock: Path) -> None:
    """What is not hashed could be swapped between two installations."""
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())

    assert entries
    assert [entry.splitlines()[0] for entry in entries if not PINNED.match(entry) or not HASH.search(entry)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_no_address(lock: Path) -> None:
    """A lock serves every mirror."""
    assert not re.search(r"://|index-url|find-links|@ ", lock.read_text())


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_lock_holds_what_its_source_asks_for(source: Path) -> None:
    """Somebody who edits a source has run `make lock`."""
    locked = _pins(source.with_suffix(".lock"))

    assert {name: pin for name, pin in _asked(source).items() if pin not in ("", locked.get(name))} == {}
    assert sorted(_asked(source).keys() - locked.keys()) == []


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock not in APART], ids=lambda lock: lock.name)
def test_a_package_has_one_version_everywhere(lock: Path) -> None:
    """What is tested is what is deployed: every lock agrees with the developers'."""
    dev = _pins(ROOT / "requirements" / "dev.lock")

    assert {name: pin for name, pin in _pins(lock).items() if dev.get(name, pin) != pin} == {}


def test_botocore_keeps_its_dateutil() -> None:
    """A layer comes before the runtime's packages, and botocore cannot work with python-dateutil 3 or newer."""
    assert _pins(ROOT / "layers" / "deps" / "requirements.lock")["python-dateutil"].startswith("2.")


@pytest.mark.parametrize("lock", ["package-lock.json", "tests/bench/croner/package-lock.json"])
def test_an_npm_lock_pins_by_hash_without_addresses(lock: str) -> None:
    """The CDK command line is one package, and the engine of the benchmark another, pinned by their integrity."""
    packages = json.loads((ROOT / lock).read_text())["packages"]
    installed = {name: entry for name, entry in packages.items() if name}

    assert installed
    assert [name for name, entry in installed.items() if "resolved" in entry or "integrity" not in entry] == []


def _pins(lock: Path) -> dict[str, str]:
    return dict(PINNED.findall(lock.read_text()))


def _asked(source: Path) -> dict[str, str]:
    """The packages that a source names, each with its exact version or nothing."""
    lines = [line.split("#")[0].strip() for line in source.read_text().splitlines()]
    matches = [NAMED.match(line) for line in lines if line and not line.startswith("-")]
    assert all(matches), f"{source.name} has a line that is no exact requirement"
    return {match[1].lower(): (match[2] or "").removeprefix("==") for match in matches if match}
