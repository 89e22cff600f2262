"""The layer of the product's own library, apart from third-party packages so that their churn does not touch it.

Must not choose modules: the whole library is one layer with the SDK that calls user code, except what only a terminal
uses: `make run`, and the operator's commands.
"""

import shutil
from pathlib import Path

import aws_cdk as cdk
import jsii
from aws_cdk import aws_lambda as lambda_

from infra.bundling.bytecode import compile_for_lambda, interpreter_of
from infra.bundling.ready_made import bring_dataclasses
from infra.bundling.sources import bundled, content_key, python_files
from infra.context import ROOT
from infra.packaging_settings import Packaging

LIBRARY = ROOT / "layers" / "core" / "python"
SDK = ROOT / "layers" / "sdk" / "python"
_ONLY_HERE = tuple(
    LIBRARY / "tickwright" / part
    for part in (
        "local",
        "operator",
        "api/server.py",
        "wiring/operator.py",
        "adapters/aws/identity.py",
        "adapters/aws/outputs.py",
    )
)


@jsii.implements(cdk.ILocalBundling)
class CoreRecipe:
    """Copies the library into the folder that CDK archives."""

    def __init__(self, packaging: Packaging) -> None:
        self._packaging = packaging

    def try_bundle(self, output_dir: str, *, image: cdk.DockerImage, **_options: object) -> bool:  # noqa: ARG002
        """Make the layer's content."""
        target = Path(output_dir) / "python"
        for path in shipped():
            copy = target / path.relative_to(SDK if path.is_relative_to(SDK) else LIBRARY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        if (interpreter := interpreter_of(self._packaging.python)) is not None:
            bring_dataclasses(target, interpreter=interpreter)
        compile_for_lambda(target, python=self._packaging.python)
        return True


def core_code(packaging: Packaging) -> lambda_.Code:
    """The layer's content, named by the hash of the library's files."""
    return bundled(LIBRARY, key=core_key(packaging), recipe=CoreRecipe(packaging))


def core_key(packaging: Packaging) -> str:
    """The name of the layer's content as the files are now."""
    return content_key(root=ROOT, files=shipped(), packaging=packaging, compiled_by=interpreter_of(packaging.python))


def shipped() -> list[Path]:
    """All but what serves on one machine: it needs packages that Lambda does not have."""
    library = [path for path in python_files(LIBRARY) if not any(path.is_relative_to(part) for part in _ONLY_HERE)]
    return [*library, *python_files(SDK)]
