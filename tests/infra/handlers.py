"""The handlers of the functions as a container of Lambda imports them: fresh, with an environment, and closed."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import pytest


@contextmanager
def containers(environment: Mapping[str, str]) -> Iterator["Containers"]:
    """Containers that are let go at the end, with what they hold."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        started = Containers()
        try:
            yield started
        finally:
            started.stop()


class Containers:
    """One container a function, started by the first that asks for it."""

    def module(self, function: str) -> ModuleType:
        """The handler's module."""
        return import_module(f"functions.{function}.handler")

    def stop(self) -> None:
        """End every container: its event loop, its threads and its connections."""
        for name in [name for name in sys.modules if name.startswith("functions.") and name.endswith(".handler")]:
            module = sys.modules.pop(name)
            module._RUNNER.close()  # noqa: SLF001 - the container ends
            kit = module._API.kit if hasattr(module, "_API") else module._KIT  # noqa: SLF001 - the container ends
            kit.store.close()
            kit.queue.close()
