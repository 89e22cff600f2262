"""Is the SDK a package of its own, that can be installed without the product?"""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.tidy.tree import ROOT


@pytest.mark.slow
def test_the_sdk_is_built_and_imported_by_itself(tmp_path: Path) -> None:
    """Typed, without pydantic and without the product beside it; a child finds itself there too."""
    subprocess.run(
        [
            find_uv_bin(),
            "build",
            "--quiet",
            "--offline",
            "--wheel",
            "--out-dir",
            str(tmp_path),
            str(ROOT / "layers/sdk"),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        packed.extractall(tmp_path / "site")
    program = """
import sys
sys.modules["pydantic"] = sys.modules["tickwright"] = sys.modules["boto3"] = None
import tickwright_sdk, tickwright_sdk.child, tickwright_sdk.testing, tickwright_sdk.fences.sql
print(tickwright_sdk.Client.__name__, tickwright_sdk.__file__)
"""
    said = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "tickwright_sdk/py.typed" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"tickwright_sdk"}
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.split() == ["Client", str(tmp_path / "site" / "tickwright_sdk" / "__init__.py")]
