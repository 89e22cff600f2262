"""Functions and files stay small enough to be read at once (the caps of the house)."""

import ast
from collections.abc import Iterator

from tests.tidy.tree import ROOT, Source, python

FUNCTION_LINES_MAX = 40
FUNCTION_LINES_MAX_LONG = 60
LONG_FUNCTIONS = ("infra/", "tests/")
FILE_LINES_MAX = 400
TEST_FILE_LINES_MAX = 500
HANDLER_LINES_MAX = 60
HANDLER_FUNCTION_LINES_MAX = 20
# The list of exceptions only shrinks: lower this number with it, never raise it.
EXCEPTIONS_MAX = 0
EXCEPTIONS_FILE = ROOT / "tests" / "tidy" / "size_exceptions.txt"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_no_function_is_over_its_cap() -> None:
    """A function has at most 40 lines of code, 60 in infra and tests, 20 in a handler; listed exceptions aside."""
    over = {key: lines for key, lines, cap in _functions() if lines > cap}

    assert over == {key: lines for key, lines in _exceptions().items() if "::" in key}


def test_no_file_is_over_its_cap() -> None:
    """A file has at most 400 lines, 500 for tests, 60 for a handler; listed exceptions aside."""
    over = {source.name: len(source.lines) for source in python() if len(source.lines) > _file_cap(source)}

    assert over == {key: lines for key, lines in _exceptions().items() if "::" not in key}


def test_the_list_of_exceptions_only_shrinks() -> None:
    """Each exception has a reason, and their number has never risen."""
    assert len(_exceptions()) <= EXCEPTIONS_MAX


def test_the_measure_counts_code_only() -> None:
    """Docstrings and blank lines are free, comments and signatures are not."""
    source = Source("x.py", 'def f(\n    a,\n):\n    """One.\n\n    Two.\n    """\n\n    # Why.\n    return a\n')
    function = source.module.body[0]
    assert isinstance(function, ast.FunctionDef)

    assert code_lines(function, source.lines) == 5


def code_lines(function: Function, lines: list[str]) -> int:
    """Count the lines of a function without its docstring and without blank ones."""
    documented = ast.get_docstring(function, clean=False) is not None
    docstring = range(function.body[0].lineno, (function.body[0].end_lineno or 0) + 1) if documented else range(0)
    whole = range(function.lineno, (function.end_lineno or 0) + 1)
    return sum(1 for number in whole if number not in docstring and lines[number - 1].strip())


def _functions() -> Iterator[tuple[str, int, int]]:
    for source in python():
        for node in source.walk():
            if isinstance(node, Function):
                yield f"{source.name}::{node.name}", code_lines(node, source.lines), _function_cap(source)


def _function_cap(source: Source) -> int:
    if _is_handler(source):
        return HANDLER_FUNCTION_LINES_MAX
    return FUNCTION_LINES_MAX_LONG if source.name.startswith(LONG_FUNCTIONS) else FUNCTION_LINES_MAX


def _file_cap(source: Source) -> int:
    if _is_handler(source):
        return HANDLER_LINES_MAX
    return TEST_FILE_LINES_MAX if source.is_test else FILE_LINES_MAX


def _is_handler(source: Source) -> bool:
    return source.name.startswith("functions/") and source.stem == "handler"


def _exceptions() -> dict[str, int]:
    listed = {}
    for line in EXCEPTIONS_FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            key, lines, reason = line.split(maxsplit=2)
            assert reason, f"{key} has no reason"
            listed[key] = int(lines)
    return listed
