"""One word for one thing: the synonyms that the glossary refuses appear in no name of the running system."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePath

import pytest

from tests.tidy.tree import RUNNING, Source, python, python_under

# What each refused word would hide: an execution, a lease, or several of our verbs.
REFUSED = frozenset({"task", "tasks", "lock", "locks", "process", "processes", "handle", "handles"})
# `run` is a verb of the API (runAt, run now); as the noun for an execution it ends a name or names an id.
REFUSED_AT_THE_END = frozenset({"run", "runs"})
REFUSED_PAIRS = frozenset({("run", "id"), ("run", "ids"), ("run", "key"), ("run", "state")})
# Names that others gave, or that say something else than an execution; each with its reason.
ALLOWED = {
    "run": "the verdict on a tick, RUN or SKIP, in protocol.md 2; and the API's verb",
    "not_run": "an outcome: the attempt was not run, a verb",
    "executions_run": "a scope: whoever has it may run executions, a verb",
    "receipt_handle": "SQS calls it so",
    "process": "the SDK's word for a handler that is called in a process of its own, as Python calls it",
    "max_runs": "the API's maxRuns: how often a job may fire",
    "runs": "the head's count of fires, `runs` in protocol.md 2",
}
HOMELESS = frozenset({"utils", "util", "helpers", "helper", "common", "base", "misc", "shared", "stuff"})


def test_no_module_is_a_drawer() -> None:
    """A function without a home has not been understood: no utils, helpers, common, base or misc."""
    drawers = [source.name for source in python() if HOMELESS & set(PurePath(source.name).with_suffix("").parts)]

    assert drawers == []


def test_no_name_uses_a_refused_word() -> None:
    """Executions are not tasks or runs, leases are not locks, and nothing is processed or handled."""
    found = [
        f"{source.name}:{line} {name}"
        for source in python_under(*RUNNING)
        for name, line in _nouns(source)
        if uses_a_refused_word(name)
    ]

    assert found == []


@pytest.mark.parametrize("name", ["task_id", "TaskStore", "ready_tasks", "bucket_lock", "lost_run", "run_id", "handle"])
def test_a_refused_word_is_found_in_a_name(name: str) -> None:
    """The check sees snake case, camel case and plurals."""
    assert uses_a_refused_word(name)


@pytest.mark.parametrize("name", ["run_at", "runner", "run_deadline_at", "block", "lambda_handler", "receipt_handle"])
def test_a_longer_word_is_no_refused_word(name: str) -> None:
    """The check looks at whole words, and lets pass what others have named."""
    assert not uses_a_refused_word(name)


def uses_a_refused_word(name: str) -> bool:
    """Tell whether a noun of ours contains a word that the glossary refuses."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)]
    if not words or "_".join(words) in ALLOWED:
        return False
    pairs = set(pairwise(words))
    return not REFUSED.isdisjoint(words) or words[-1] in REFUSED_AT_THE_END or not REFUSED_PAIRS.isdisjoint(pairs)


def _nouns(source: Source) -> Iterator[tuple[str, int]]:
    """The names a file gives to things: classes, parameters, variables and fields. A function's name is a verb."""
    for node in source.walk():
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
