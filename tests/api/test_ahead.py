"""Are the models of bodies built while nobody waits, and only then?"""

import subprocess
import sys

import pytest

_PROBE = """
import sys
from tickwright.api.ahead import build_ahead, models_of
from tickwright.api.job_bodies import JobBody
from tickwright.api.routes import ROUTES
environ = {"AWS_LAMBDA_INITIALIZATION_TYPE": sys.argv[1]}
print(build_ahead(environ, models_of(ROUTES)), JobBody.__pydantic_complete__)
"""


def built(initialization: str) -> tuple[int, bool]:
    said = subprocess.run(
        [sys.executable, "-c", _PROBE, initialization],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    count, is_complete = said.stdout.split()
    return int(count), is_complete == "True"


def test_a_start_that_a_caller_waits_for_builds_no_model() -> None:
    """The request that comes has one body; that of the others would be built for nothing."""
    assert built("on-demand") == (0, False)


@pytest.mark.parametrize("initialization", ["snap-start", "provisioned-concurrency"])
def test_a_start_that_nobody_waits_for_builds_every_model(initialization: str) -> None:
    """A snapshot is taken after the import: what it holds no request waits for."""
    count, is_complete = built(initialization)

    assert count > 10
    assert is_complete
