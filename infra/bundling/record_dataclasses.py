"""Write down what dataclasses compile: `python -I -S record_dataclasses.py FOLDER`, with nothing but FOLDER and Python.

A script of its own, since another interpreter runs it. Prints the modules that could not be imported: what is theirs
is compiled at each start, as without this.
"""

import builtins
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import marshal
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.util import MAGIC_NUMBER
from pathlib import Path

OURS = ("tickwright", "tickwright_sdk")


class Base:
    """What a class may derive from in place of one that is not here."""

    def __init_subclass__(cls, **_: object) -> None:
        """Take any argument."""


class Anything:
    """Stands for whatever a package that is not here would have: it may be called, asked, derived from and combined."""

    def __call__(self, *_: object, **__: object) -> "Anything":
        return self

    def __getattr__(self, name: str) -> "Anything":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: object) -> "Anything":
        return self

    def __or__(self, _: object) -> "Anything":
        return self

    __ror__ = __or__

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return (Base,)


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every package that neither Python nor the library has."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the protocol's
        target: types.ModuleType | None = None,  # noqa: ARG002 - the protocol's
    ) -> importlib.machinery.ModuleSpec | None:
        """Any but ours, after all other finders."""
        if name.partition(".")[0] in (*OURS, *sys.stdlib_module_names):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Let it have every name."""
        vars(module)["__getattr__"] = lambda name: Anything() if not name.startswith("__") else _absent(name)


def _absent(name: str) -> None:
    raise AttributeError(name)


def record(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """What is compiled for the modules of the folder, by its text; and which of them could not be imported."""
    codes: dict[str, bytes] = {}

    def noted(text: str, names: dict[str, object], made: dict[str, object]) -> None:
        code = compile(text, "<string>", "exec")
        codes[text] = marshal.dumps(code)
        builtins.exec(code, names, made)  # noqa: S102 - as dataclasses would

    vars(dataclasses)["exec"] = noted
    sys.path.insert(0, str(folder))
    sys.meta_path.append(Missing())
    failed = []
    for package in OURS:
        for path in sorted((folder / package).rglob("*.py")):
            name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            try:
                if not name.endswith("__main__"):
                    importlib.import_module(name)
            except Exception as fault:  # noqa: BLE001 - whatever it was, the layer works without
                failed.append(f"{name} ({type(fault).__name__}: {fault})")
    return codes, failed


def main() -> None:
    """Record, and write the file."""
    folder = Path(sys.argv[1])
    interpreter = f"{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}"
    target = folder / "tickwright" / f"dataclasses.{interpreter}.marshal"
    target.unlink(missing_ok=True)  # else the library takes from it, and asks for nothing
    codes, failed = record(folder)
    target.write_bytes(marshal.dumps(dict(sorted(codes.items()))))
    print("; ".join(failed), end="")  # noqa: T201 - what the recipe reads


if __name__ == "__main__":
    main()
