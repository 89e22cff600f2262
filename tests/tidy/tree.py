"""The tracked files as the tidy tests read them: each one read and parsed once.

It decides what counts as product and as test; it must not know any rule.
"""

import ast
import gc
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = "layers/core/python/tickwright/"
DOMAIN = f"{CORE}domain/"
SDK = "layers/sdk/python/tickwright_sdk/"
PRODUCT = ("layers/", "functions/", "infra/", "tools/", "app.py")
RUNNING = ("layers/", "functions/")


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A tree is a quarter of a million objects that all stay: searching them for garbage takes longer than parsing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True)
class Source:
    """One tracked text file, by its path from the root."""

    name: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def module(self) -> ast.Module:
        with _collector_paused():
            return ast.parse(self.text, self.name)

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def is_test(self) -> bool:
        return self.name.startswith("tests/")

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        with _collector_paused():
            return tuple(ast.walk(self.module))

    def walk(self) -> Iterator[ast.AST]:
        return iter(self.nodes)


@lru_cache(maxsize=1)
def tracked_names() -> tuple[str, ...]:
    """Every file that git tracks or would track, so that a rule holds before the commit too."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted({name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()})
    assert names, "git lists no file: the rules would hold for nothing"
    return tuple(names)


@lru_cache(maxsize=1)
def texts() -> tuple[Source, ...]:
    """Every tracked file that is text."""
    return tuple(source for name in tracked_names() if (source := _read(name)) is not None)


@lru_cache(maxsize=1)
def python() -> tuple[Source, ...]:
    """Every tracked Python file."""
    return tuple(source for source in texts() if source.name.endswith(".py"))


def python_under(*prefixes: str) -> tuple[Source, ...]:
    """The tracked Python files under these folders."""
    return tuple(source for source in python() if source.name.startswith(prefixes))


def _read(name: str) -> Source | None:
    content = (ROOT / name).read_bytes()
    if b"\0" in content:
        return None
    try:
        return Source(name, content.decode())
    except UnicodeDecodeError:
        return None
