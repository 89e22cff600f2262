"""State names live in the domain's table: nobody else spells one out."""

import ast
from collections.abc import Iterator

from tests.tidy.tree import DOMAIN, RUNNING, Source, python_under


def test_no_state_is_written_as_a_loose_string() -> None:
    """Outside the domain a state is a member of its enum, never text that could be misspelt."""
    states = _states()
    found = [
        f"{source.name}:{line} {text}"
        for source in python_under(*RUNNING)
        if not source.name.startswith(DOMAIN)
        for text, line in _strings(source)
        if text in states
    ]

    assert found == []


def test_the_states_are_read_from_the_domain() -> None:
    """The check stands on the real names; without them it would pass on anything."""
    assert _states() >= {"WAITING", "QUEUED", "RUNNING", "RETRY", "SUCCEEDED", "CANCELLED", "DEAD", "SKIPPED"}


def _states() -> set[str]:
    return {text for source in python_under(DOMAIN) for node in source.walk() for text in _values_of_a_state_enum(node)}


def _values_of_a_state_enum(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef) and node.name.endswith(("State", "Status")):
        for statement in node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
                yield str(statement.value.value)


def _strings(source: Source) -> Iterator[tuple[str, int]]:
    for node in source.walk():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
