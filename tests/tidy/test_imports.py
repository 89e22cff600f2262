"""The rest of the import contracts: what the domain and the services may know of the world outside."""

import ast
import sys
from collections.abc import Iterable, Iterator

import pytest

from tests.tidy.tree import CORE, DOMAIN, SDK, Source, python_under

INNER = ("domain/", "ports/", "services/")
OURS = frozenset({"tickwright"})


@pytest.mark.parametrize("layer", INNER)
def test_inner_layers_import_only_the_standard_library(layer: str) -> None:
    """No package of others is known to the domain, the ports or the services: those are for adapters."""
    sources = python_under(CORE + layer)
    assert sources, f"{layer} is empty: the rule would hold for nothing"

    found = [
        f"{source.name} imports {name}"
        for source in sources
        for name in _imported(source)
        if name.partition(".")[0] not in OURS | sys.stdlib_module_names
    ]

    assert found == []


def test_the_sdk_needs_one_package_and_loads_the_others_late() -> None:
    """It is installed beside whatever its user has: pydantic and boto3 are asked for where they are needed."""
    sources = python_under(SDK)
    assert sources, "there is no SDK: the rule would hold for nothing"

    found = [
        f"{source.name} imports {name}"
        for source in sources
        for name in _imported_at_once(source)
        if name.partition(".")[0] not in {"tickwright_sdk", "urllib3"} | sys.stdlib_module_names
    ]

    assert found == []


def test_the_domain_awaits_nothing() -> None:
    """A rule is a plain function of values: no coroutine, no await."""
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    found = [source.name for source in python_under(DOMAIN) for node in source.walk() if isinstance(node, waits)]

    assert found == []


def test_the_domain_has_no_inheritance() -> None:
    """Classes of the domain stand alone; enums, protocols and exceptions are what the language asks a base for."""
    roots = {"Enum", "StrEnum", "IntEnum", "Flag", "Protocol", "Exception", "ValueError", "NamedTuple", "TypedDict"}
    found = [
        f"{source.name}:{node.lineno} {node.name}({ast.unparse(parent)})"
        for source in python_under(DOMAIN)
        for node in source.walk()
        if isinstance(node, ast.ClassDef)
        for parent in node.bases
        if ast.unparse(parent).rpartition(".")[2].partition("[")[0] not in roots
    ]

    assert found == []


def _imported_at_once(source: Source) -> Iterator[str]:
    yield from _names(source.module.body)


def _imported(source: Source) -> Iterator[str]:
    yield from _names(source.walk())


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
