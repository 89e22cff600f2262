"""The layer of third-party packages: installed by uv from the hashes in layers/deps/requirements.lock.

Must not resolve a version: what is not in the file, with its hash, is not installed. Wheels are chosen for who
will import them, whatever this machine is, and nothing is built from source.
"""

import shutil
import subprocess
from pathlib import Path

import aws_cdk as cdk
import jsii
from aws_cdk import aws_lambda as lambda_
from uv import find_uv_bin

from infra.bundling.aws_documentation import leave_out_documentation
from infra.bundling.aws_models import keep_what_is_called
from infra.bundling.bytecode import compile_for_lambda, interpreter_of
from infra.bundling.ready_made import bring_patterns
from infra.bundling.sources import bundled, content_key
from infra.context import ROOT
from infra.packaging_settings import Packaging

REQUIREMENTS = ROOT / "layers" / "deps" / "requirements.lock"
# Scripts name the interpreter of the machine that packed them; type stubs and tests are never imported in Lambda.
_UNUSED = ("bin", ".lock", "croniter/tests", "**/*.pyi")


@jsii.implements(cdk.ILocalBundling)
class DepsRecipe:
    """Installs the locked packages into the folder that CDK archives."""

    def __init__(self, packaging: Packaging) -> None:
        self._packaging = packaging

    def try_bundle(self, output_dir: str, *, image: cdk.DockerImage, **_options: object) -> bool:  # noqa: ARG002
        """Make the layer's content; a failure ends the build, since Docker is not an alternative."""
        install(Path(output_dir) / "python", self._packaging)
        return True


def deps_code(packaging: Packaging) -> lambda_.Code:
    """The layer's content, named by the hash of its requirements."""
    if not REQUIREMENTS.exists():
        raise SystemExit(f"{REQUIREMENTS.relative_to(ROOT)} is missing. Run `make lock` to write it.")
    compiled_by = interpreter_of(packaging.python)
    key = content_key(root=ROOT, files=[REQUIREMENTS], packaging=packaging, compiled_by=compiled_by)
    return bundled(REQUIREMENTS.parent, key=key, recipe=DepsRecipe(packaging))


def install(target: Path, packaging: Packaging) -> None:
    """Put the locked packages into the folder, without what Lambda never reads."""
    subprocess.run(  # noqa: S603 - a fixed argument list
        [
            *(find_uv_bin(), "pip", "install", "--quiet", "--no-config"),
            *("--require-hashes", "--requirements", str(REQUIREMENTS)),
            *("--python-platform", packaging.wheels, "--python-version", packaging.python),
            *("--only-binary", ":all:"),
            *("--no-installer-metadata", "--link-mode", "copy", "--target", str(target)),
        ],
        check=True,
    )
    for pattern in _UNUSED:
        for path in sorted(target.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    keep_what_is_called(target / "botocore")
    leave_out_documentation(target / "botocore")
    if (interpreter := interpreter_of(packaging.python)) is not None:
        bring_patterns(target, interpreter=interpreter)
    compile_for_lambda(target, python=packaging.python)
