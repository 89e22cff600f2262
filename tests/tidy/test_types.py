"""Types are checked everywhere: nothing that infra uses of the CDK is left out of what mypy reads."""

import ast
import tomllib
from collections.abc import Iterator

from tests.tidy.tree import ROOT, Source, python_under


def test_mypy_reads_every_part_of_the_cdk_in_use() -> None:
    """A part of the CDK that mypy skips would be Any in our code, and any mistake with it would pass."""
    used = {name for source in python_under("infra/", "tests/", "app.py") for name in _cdk_modules(source)}

    assert used
    assert sorted(used - _read_by_mypy()) == []


def _read_by_mypy() -> set[str]:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    return {name for entry in overrides if entry.get("follow_imports") == "normal" for name in entry["module"]}


def _cdk_modules(source: Source) -> Iterator[str]:
    for node in source.walk():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "aws_cdk")
        elif isinstance(node, ast.ImportFrom) and node.module == "aws_cdk":
            yield from (f"aws_cdk.{alias.name}" for alias in node.names if alias.name[0].islower())
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aws_cdk."):
            yield str(node.module)
