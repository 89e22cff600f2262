"""Are two builds the same bytes, and is the build for Lambda's processor of the same packages?"""

import hashlib
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path

import pytest

from infra.bundling.deps_layer import REQUIREMENTS, install
from infra.packaging_settings import LAMBDA
from tests.packaging.assembly import Packed, functions_of

# As ELF numbers machines.
_AARCH64 = 183
_MACHINE_AT = 18


def content_of(folder: Path) -> Mapping[str, str]:
    """The SHA-256 of each file, by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def of_lambda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The third-party layer as an installation on AWS gets it."""
    target = tmp_path_factory.mktemp("lambda") / "python"
    install(target, LAMBDA)
    return target


@pytest.mark.slow
def test_a_build_elsewhere_is_the_same_bytes(assembly: Path, functions: Mapping[str, Packed], tmp_path: Path) -> None:
    """Another process, another umask, seed of hashes, language and folder: each archive has the same files."""
    elsewhere = {"PYTHONHASHSEED": "4242", "LC_ALL": "C", "TZ": "Asia/Tokyo", "CDK_VALIDATION": "false"}
    subprocess.run(
        ["sh", "-c", 'umask 077 && exec "$@"', "sh", sys.executable, "-m", "tests.packaging.assembly", str(tmp_path)],
        env={**os.environ, **elsewhere, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        check=True,
        capture_output=True,
    )

    here = {at.name for one in functions.values() for at in (one.code, *one.layers)}
    there = {at.name for one in functions_of(tmp_path).values() for at in (one.code, *one.layers)}
    differing = {
        f"{name}/{path}"
        for name in here & there
        for path, _ in content_of(assembly / name).items() ^ content_of(tmp_path / name).items()
    }

    assert here == there
    assert any(path.endswith(".pyc") for name in here for path in content_of(assembly / name))
    assert differing == set()


@pytest.mark.slow
def test_lambda_s_build_is_for_its_processor_and_nothing_else(of_lambda: Path) -> None:
    """By what each wheel says of itself, and by what each library is."""
    tags = {
        wheel.parent.name: HeaderParser().parsestr(wheel.read_text(encoding="utf-8")).get_all("Tag", [])
        for wheel in of_lambda.glob("*.dist-info/WHEEL")
    }
    foreign = {
        name: tag
        for name, of in tags.items()
        for tag in of
        if not tag.endswith("-none-any") and not tag.endswith("aarch64")
    }
    libraries = sorted(of_lambda.rglob("*.so*"))
    machines = {struct.unpack_from("<H", path.read_bytes(), _MACHINE_AT)[0] for path in libraries}

    assert tags
    assert foreign == {}
    assert machines == {_AARCH64}


@pytest.mark.slow
def test_both_builds_have_the_same_packages(functions: Mapping[str, Packed], of_lambda: Path) -> None:
    """What was run here is what is deployed, but for the processor, and for what one Python needs and the other has."""
    (deps,) = {layer for one in functions.values() for layer in one.layers if (layer / "python" / "pydantic").exists()}

    here = {path.name for path in (deps / "python").glob("*.dist-info")}
    there = {path.name for path in of_lambda.glob("*.dist-info")}
    of_some_pythons = {
        line.partition("==")[0].replace("-", "_")
        for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()
        if "==" in line and "; python" in line
    }

    assert {name for name in here ^ there if name.partition("-")[0] not in of_some_pythons} == set()
    assert any(name.startswith("botocore-") for name in here)
