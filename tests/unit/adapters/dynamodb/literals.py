"""Every literal write there is, by name, as it stands in the modules of expressions."""

from collections.abc import Iterator

from tickwright.adapters.dynamodb.expressions import control, executions, heads, journal, moves, redrives
from tickwright.adapters.dynamodb.expressions.write import Write


def all_writes() -> dict[str, Write]:
    """By constant; those that differ by what is absent have one name each."""
    return dict(_named())


def _named() -> Iterator[tuple[str, Write]]:
    for module in (control, executions, heads, journal, moves, redrives):
        for name, constant in vars(module).items():
            if isinstance(constant, Write):
                yield name, constant
            elif isinstance(constant, dict):
                for case, write in constant.items():
                    if isinstance(write, Write):
                        yield f"{name} {_words(case)}", write


def _words(case: object) -> str:
    if isinstance(case, tuple):
        return " ".join(_words(part) for part in case)
    return str(getattr(case, "value", case))
