"""The app of this machine's stage, packed: which archives every function of the templates is made of.

`python -m tests.packaging.assembly FOLDER` writes it, for builds under other circumstances.
"""

import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.app import build_app
from infra.context import context_of_cdk_json
from infra.settings import settings_of

# What CDK's tool gives every file of an archive, so that the same content is the same archive.
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A function as a template has it: its own code, and the layers in the order that Lambda unpacks them in."""

    name: str
    handler: str
    code: Path
    layers: tuple[Path, ...]
    variables: frozenset[str]


def write(folder: Path) -> None:
    """Synthesise the stage that is for this machine, with everything packed."""
    build_app(settings_of("local"), context=context_of_cdk_json(), outdir=str(folder)).synth()


def functions_of(folder: Path) -> Mapping[str, Packed]:
    """Every function of every stack, by the name of its folder."""
    found = [packed for path in sorted(folder.glob("*.template.json")) for packed in _of_stack(folder, path)]
    return {packed.name: packed for packed in found}


def _of_stack(folder: Path, template: Path) -> Iterator[Packed]:
    resources = json.loads(template.read_text(encoding="utf-8")).get("Resources", {})
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Function":
            properties = resource["Properties"]
            yield Packed(
                name=properties["Handler"].split(".")[1],
                handler=properties["Handler"],
                code=_asset(folder, properties["Code"]),
                layers=tuple(
                    _asset(folder, resources[layer["Ref"]]["Properties"]["Content"]) for layer in properties["Layers"]
                ),
                variables=frozenset(properties["Environment"]["Variables"]),
            )


def _asset(folder: Path, at: Mapping[str, Any]) -> Path:
    return folder / f"asset.{at['S3Key'].removesuffix('.zip')}"


def archive(content: Path, target: Path) -> Path:
    """Pack a folder as CDK's tool does before it uploads it."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in content.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(content).as_posix(), EPOCH)
            entry.external_attr = path.stat().st_mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes())
    return target


if __name__ == "__main__":
    write(Path(sys.argv[1]))
