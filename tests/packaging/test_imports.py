"""What does a packed function import, and from where?"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from infra.bundling.aws_models import SERVICES
from tests.packaging.layout import LIBRARY, Unpacked
from tests.packaging.nowhere import environment_of_nothing
from tickwright.wiring.targets import SERVICES as TARGETS

_PROBE = """
import gc, importlib, json, os, re, sys
texts, patterns, parse = [], [], re._parser.parse

def heard(event, of):
    frame = sys._getframe() if event == "compile" and of[1] == "<string>" else None
    while frame is not None and frame.f_code.co_name != "_process_class":
        frame = frame.f_back
    if frame is not None and frame.f_locals["cls"].__module__.startswith("tickwright"):
        texts.append(frame.f_locals["cls"].__qualname__)

def parsed(pattern, *how):
    frame = sys._getframe()
    while frame.f_code.co_filename.rpartition("/")[0].endswith("/re") or frame.f_code.co_name in ("parsed", "_pattern"):
        frame = frame.f_back
    patterns.append((frame.f_code.co_filename, repr(pattern)))
    return parse(pattern, *how)

re._parser.parse = parsed
sys.addaudithook(heard)
sys.path.insert(0, "/var/task")
collected = sum(one["collections"] for one in gc.get_stats())
importlib.import_module(sys.argv[1].rpartition(".")[0])
collected = sum(one["collections"] for one in gc.get_stats()) - collected
of = {name: module for name, module in list(sys.modules.items()) if name != "__main__"}
print(json.dumps({
    "files": {name: module.__file__ for name, module in of.items() if getattr(module, "__file__", None)},
    "uncompiled": [name for name, module in of.items() if (spec := getattr(module, "__spec__", None))
                   and spec.has_location and spec.origin.startswith("/opt/") and spec.origin.endswith(".py")
                   and not os.path.exists(spec.cached)],
    "compiled": sorted(set(texts)),
    "patterns": patterns,
    "collected": collected,
}))
"""
# Modules that no cold start may pay for, and why nothing of a handler's needs them at once.
NOWHERE = {
    "boto3": "a resource layer that nothing uses; botocore alone makes the clients",
    "s3transfer": "comes with boto3",
    "html.parser": "botocore's makers of documentation are left out of the layer",
    "croniter": "the second opinion about a cron expression, loaded at the first question",
    "aws_xray_sdk": "300 ms, and traces are switched on without it",
    "sqlite3": "the embedded store is not for Lambda",
    "uvicorn": "API Gateway is the server",
}
NOT_IN_A_LOOP = {
    "pydantic": "bodies and queries are the API's; a loop reads what the library has written, a landing what was read",
    "tickwright.api.routes": "the table of paths, with every endpoint behind it",
}
# What only the whole API needs.
NOT_FOR_ONE_OPERATION = ("tickwright.api.routes", "tickwright.adapters.targets.http")
LOOPS = ("authorizer", "scheduler", "watch", "worker", "intake")


@dataclass(frozen=True, slots=True)
class Imported:
    """What a fresh process has after a handler's import."""

    files: Mapping[str, str]
    uncompiled: list[str]
    compiled: list[str]  # our dataclasses whose methods were
    patterns: list[tuple[str, str]]  # regular expressions that were: whose, and which
    collected: int  # how often the garbage collector looked


@pytest.fixture(scope="module")
def imported(unpacked: Mapping[str, Unpacked]) -> Mapping[str, Imported]:
    """Every handler's."""
    return {name: _imported(function) for name, function in unpacked.items()}


def _imported(function: Unpacked) -> Imported:
    said = subprocess.run(
        function.command("-c", _PROBE, function.handler),
        env=function.environment(environment_of_nothing()),
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return Imported(**json.loads(said.stdout))


@pytest.mark.slow
def test_only_what_is_packed_is_imported(imported: Mapping[str, Imported]) -> None:
    """From the function, its layers and the standard library: whatever else this machine has is not there in Lambda."""
    allowed = ("/var/task/functions/", "/opt/python/", f"{LIBRARY}/")

    foreign = {
        (name, module, file)
        for name, one in imported.items()
        for module, file in one.files.items()
        if not file.startswith(allowed) or "site-packages" in file
    }

    assert foreign == set()
    assert all(one.files["tickwright"].startswith("/opt/python/") for one in imported.values())
    assert all(one.files["botocore"].startswith("/opt/python/") for one in imported.values())


@pytest.mark.slow
def test_nothing_of_a_layer_is_compiled_at_a_cold_start(imported: Mapping[str, Imported]) -> None:
    """A layer is read-only: what has no compiled file there is compiled anew by every container."""
    assert {name: one.uncompiled for name, one in imported.items() if one.uncompiled} == {}


@pytest.mark.slow
def test_no_method_of_a_dataclass_is_compiled_at_a_cold_start(imported: Mapping[str, Imported]) -> None:
    """The layer brings them: they would be a third of a handler's import."""
    assert {name: one.compiled for name, one in imported.items() if one.compiled} == {}


@pytest.mark.slow
def test_no_pattern_of_the_aws_client_is_compiled_at_a_cold_start(imported: Mapping[str, Imported]) -> None:
    """The layer brings them: an address alone would be a fifteenth of a handler's import."""
    found = {
        (name, file, pattern)
        for name, one in imported.items()
        for file, pattern in one.patterns
        if file.startswith(("/opt/python/botocore/", "/opt/python/urllib3/"))
    }

    assert found == set()
    assert all(one.patterns for one in imported.values()), "our own are compiled: the probe hears of some"


@pytest.mark.slow
def test_no_import_is_looked_through_for_garbage(imported: Mapping[str, Imported]) -> None:
    """What it makes stays: a look finds nothing, and there were dozens of them.

    One may come before the package of the functions has said so.
    """
    assert {name: one.collected for name, one in imported.items() if one.collected > 1} == {}


@pytest.mark.slow
def test_no_handler_imports_what_no_cold_start_may_pay_for(imported: Mapping[str, Imported]) -> None:
    """The reason stands beside each module; what is loaded at need may be there later."""
    found = {(name, module) for name, one in imported.items() for module in NOWHERE if module in one.files}

    assert found == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claim", "intake"])
def test_one_operation_does_not_import_the_others(imported: Mapping[str, Imported], name: str) -> None:
    """A claim takes one body, a landing another; neither runs a target."""
    assert [module for module in NOT_FOR_ONE_OPERATION if module in imported[name].files] == []


@pytest.mark.slow
def test_no_loop_imports_what_is_the_api_s(imported: Mapping[str, Imported]) -> None:
    """A scheduler that reads bodies of requests would be one that waits for pydantic."""
    found = {(name, module) for name in LOOPS for module in NOT_IN_A_LOOP if module in imported[name].files}

    assert found == set()


def test_the_layer_has_the_models_of_every_service_that_is_called() -> None:
    """A target kind that is added needs its service's model beside it: else its first attempt would fail."""
    assert {"dynamodb", "sqs", *(service.name for service in TARGETS.values())} <= set(SERVICES)
