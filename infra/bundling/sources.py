"""Which files of the repository go into a function, and what names their content.

Must not know CDK's constructs beyond an asset. Allow-lists only: a file that nobody listed is never shipped, and a
module has the same import path in Lambda, in tests and under mypy.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from infra.context import ROOT
from infra.packaging_settings import Packaging

# Raise when a recipe in this folder changes what it makes: the key of a layer has to change with its content.
RECIPE = "5"


def function_code(name: str) -> lambda_.Code:
    """The folder of one function, with the package it is in, and nothing else of the repository."""
    return lambda_.Code.from_asset(
        str(ROOT),
        # Docker's rules: a later line takes back an earlier one. Git's rules drop the folder's own files.
        exclude=["*", "!functions/__init__.py", f"!functions/{name}", "**/__pycache__"],
        ignore_mode=cdk.IgnoreMode.DOCKER,
    )


def python_files(folder: Path) -> list[Path]:
    """Every file of a package that is shipped, in a fixed order; caches of the interpreter are not."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def content_key(*, root: Path, files: Iterable[Path], packaging: Packaging, compiled_by: str | None) -> str:
    """A name for what a recipe makes of these files: same files, same recipe, same key on every machine.

    `compiled_by`: the interpreter, if this machine has it. Under one key the bare layer of a machine without it would
    be taken for the compiled one of another, since what is uploaded already is not uploaded again.
    """
    made_by = f"{RECIPE}|{packaging.python}|{packaging.wheels}|{'none' if compiled_by is None else packaging.python}"
    digest = hashlib.sha256(made_by.encode())
    for path in files:
        digest.update(f"\n{path.relative_to(root).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def bundled(source: Path, *, key: str, recipe: cdk.ILocalBundling) -> lambda_.Code:
    """An asset that a recipe makes on this machine; Docker is never asked, so its image is a name without a meaning."""
    return lambda_.Code.from_asset(
        str(source),
        asset_hash=key,
        asset_hash_type=cdk.AssetHashType.CUSTOM,
        bundling=cdk.BundlingOptions(image=cdk.DockerImage.from_registry("scratch"), command=["false"], local=recipe),
    )
