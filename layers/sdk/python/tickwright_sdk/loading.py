"""The import of a module that holds handlers: while it goes on, no worker of it may run.

A module that runs its worker on import would serve inside of that import, and once more after it. Must not know what
is made of the module. Promise: SEM-SDK-15.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

from tickwright_sdk.problems import WorkerRefused

_LOADED: ContextVar[str | None] = ContextVar("the module that is being loaded", default=None)


@contextmanager
def loading(module: str) -> Iterator[None]:
    """Refuse every worker that is run inside."""
    token = _LOADED.set(module)
    try:
        yield
    finally:
        _LOADED.reset(token)


def load(module: str) -> ModuleType:
    """Import it. Raises WorkerRefused if it runs its worker on import."""
    with loading(module):
        return importlib.import_module(module)


def refuse_on_import() -> None:
    """Raise WorkerRefused while a module is being loaded."""
    module = _LOADED.get()
    if module is not None:
        raise WorkerRefused(
            f"the module {module!r} runs its worker when it is imported: "
            f'put `if __name__ == "__main__":` before worker.run()'
        )
