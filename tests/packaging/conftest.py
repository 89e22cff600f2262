"""The packed app, once for the folder, and its functions started as Lambda starts them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.packaging import layout
from tests.packaging.assembly import Packed, functions_of, write
from tests.packaging.layout import Unpacked, unpack
from tests.support.emulators.installed import give_up_on


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that CDK's tool would publish from, packed for this machine."""
    folder = tmp_path_factory.mktemp("assembly")
    write(folder)
    return folder


@pytest.fixture(scope="session")
def functions(assembly: Path) -> Mapping[str, Packed]:
    """Every function of the templates."""
    return functions_of(assembly)


@pytest.fixture(scope="session")
def unpacked(functions: Mapping[str, Packed], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Unpacked]:
    """Every function, where Lambda would have it."""
    reason = layout.missing(tmp_path_factory.mktemp("tried"))
    if reason is not None:
        give_up_on("Lambda's layout", reason)
    folder = tmp_path_factory.mktemp("unpacked")
    return {name: unpack(function, folder) for name, function in functions.items()}


Closing = Callable[[Callable[[], None]], None]


@pytest.fixture(scope="module")
def at_the_end() -> Iterator[Closing]:
    """What is called here is called when the module's tests are over."""
    calls: list[Callable[[], None]] = []
    yield calls.append
    for call in reversed(calls):
        call()
