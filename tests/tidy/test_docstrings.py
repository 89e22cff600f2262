"""Docstrings stand where the house asks for them, and say enough in few lines."""

import ast
from collections.abc import Iterator

from tests.tidy.tree import CORE, Source, python, python_under

MODULE_LINES_MAX = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_every_module_says_what_it_is_for() -> None:
    """A module opens with a docstring of less than ten lines."""
    found = {
        source.name: lines
        for source in python()
        if source.text.strip() and not 0 < (lines := _docstring_lines(source.module)) < MODULE_LINES_MAX
    }

    assert found == {}


def test_every_method_of_a_port_has_a_contract() -> None:
    """What is atomic, what a lost race returns, what may be stale: an adapter's author reads it in the port."""
    ports = python_under(f"{CORE}ports/")
    assert ports, "there are no ports: the rule would hold for nothing"

    assert [place for source in ports for place in _bare_methods(source)] == []


def test_every_test_finishes_its_claim() -> None:
    """A test's name is a claim, and its docstring is the sentence that completes it."""
    found = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in python_under("tests/")
        for node in source.walk()
        if isinstance(node, Function) and node.name.startswith("test_") and _docstring_lines(node) == 0
    ]

    assert found == []


def test_no_test_is_without_a_check() -> None:
    """A test that asserts nothing, by itself or through a function of ours, cannot fail for the right reason."""
    functions = [
        (source, node) for source in python_under("tests/") for node in source.walk() if isinstance(node, Function)
    ]
    checkers = _checkers([node for _, node in functions])
    found = [
        f"{source.name}:{node.lineno} {node.name}"
        for source, node in functions
        if node.name.startswith("test_") and not _asserts(node) and checkers.isdisjoint(_called(node))
    ]

    assert found == []


def _docstring_lines(node: ast.Module | Function) -> int:
    return len((ast.get_docstring(node) or "").splitlines())


def _bare_methods(source: Source) -> Iterator[str]:
    for node in source.walk():
        if isinstance(node, ast.ClassDef) and any(ast.unparse(parent) == "Protocol" for parent in node.bases):
            for method in node.body:
                if isinstance(method, Function) and not ast.get_docstring(method):
                    yield f"{source.name}:{method.lineno} {node.name}.{method.name}"


def _checkers(functions: list[Function]) -> set[str]:
    """The names of all functions that assert, or that call one which does."""
    calls: dict[str, set[str]] = {}
    for function in functions:
        calls.setdefault(function.name, set()).update(_called(function))
    checkers = {function.name for function in functions if _asserts(function)}
    while more := {name for name, called in calls.items() if not called.isdisjoint(checkers)} - checkers:
        checkers |= more
    return checkers


def _called(function: Function) -> set[str]:
    return {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(function) if isinstance(node, ast.Call)} - {
        function.name
    }


def _asserts(function: Function) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(function)) or not _called(function).isdisjoint(
        {"raises", "fail", "warns"}
    )
