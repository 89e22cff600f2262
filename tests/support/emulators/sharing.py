"""Which tests share an engine, and so belong on one worker of xdist?

xdist's own way, --dist loadgroup, is silently off under pytest 9.2 (pytest-xdist issue 1386). The controller knows only
node ids, so the group is read from those: a folder, or an engine's name among a test's parameters. A test that asks
for an engine in another way still works; it may cost a second engine.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

ENGINES = ("dynamodb_local", "ministack", "redis_server")
# Each of these builds something once for the folder: the synthesised app, the deployed app.
FOLDERS = ("tests/infra/", "tests/e2e/", "tests/packaging/")


class OneEngineOneWorker(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Send the tests of one engine or one folder to one worker, and every other test wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Name the group of a test, which is the test itself where nothing is shared."""
    parameters = nodeid.partition("[")[2]
    shared = [name for name in ENGINES if name in parameters] + [name for name in FOLDERS if nodeid.startswith(name)]
    return shared[0] if shared else nodeid


def needs_an_engine(item: pytest.Item) -> bool:
    """Tell whether a test asks for an engine, by fixture or by parameter."""
    callspec = getattr(item, "callspec", None)
    asked = {*getattr(item, "fixturenames", ())} | {str(value) for value in getattr(callspec, "params", {}).values()}
    return not asked.isdisjoint(ENGINES)
