"""What has to be true of the archives that would be uploaded: judged on the packed assets of an assembly.

Must not know how they were packed (infra/bundling does).
"""

from collections.abc import Iterator
from pathlib import Path

from infra.policy.checks import Finding

# Lambda's limit is 250 MB for function and layers together; far less keeps cold starts short.
LAYER_BYTES_MAX = 40_000_000
# What the product imports, whatever Lambda's runtime has.
DEPS = ("aws_lambda_powertools", "botocore", "croniter", "dateutil", "pydantic", "pydantic_core", "tzdata")
# It adds a third to a cold start, and nothing that is used: botocore alone makes the clients.
UNUSED = ("boto3",)
COMPILED_FOR = "aarch64"


def check_packages(outdir: Path) -> Iterator[Finding]:
    """Every layer is there, small enough and for the right machine; functions and images carry what is theirs only."""
    layers = sorted(outdir.glob("asset.*/python"))
    yield from _deps([layer for layer in layers if (layer / "pydantic").exists()])
    yield from _core([layer for layer in layers if (layer / "tickwright").exists()])
    for functions in sorted(outdir.glob("asset.*/functions")):
        if list(functions.glob("*/Dockerfile")):
            yield from _image(functions.parent)
            continue
        folders = [path.name for path in functions.iterdir() if path.is_dir()]
        others = [path.name for path in functions.parent.iterdir() if path != functions]
        if len(folders) != 1 or others:
            yield Finding("package-function", functions.parent.name, f"carries {sorted(folders + others)}")


def _image(context: Path) -> Iterator[Finding]:
    """What is sent to whoever builds an image is what its Dockerfile copies, and itself."""
    (dockerfile,) = context.glob("functions/*/Dockerfile")
    # A pattern for files of a folder names the folder.
    lines = [line.split() for line in dockerfile.read_text(encoding="utf-8").splitlines()]
    copied = [
        source.partition("*")[0].rstrip("/")
        for words in lines
        if words[:1] == ["COPY"] and not words[1].startswith("--")
        for source in words[1:-1]
    ]
    for path in sorted(path for path in context.rglob("*") if path.is_file() and path != dockerfile):
        name = path.relative_to(context).as_posix()
        if not any(name == source or name.startswith(f"{source}/") for source in copied):
            yield Finding("package-image", context.name, f"carries {name}")
    for source in copied:
        if not (context / source).exists():
            yield Finding("package-image", context.name, f"lacks {source}")


def _deps(layers: list[Path]) -> Iterator[Finding]:
    if len(layers) != 1:
        yield Finding("package-deps", "deps layer", f"is there {len(layers)} times")
    for layer in layers:
        yield from _size(layer, "deps layer")
        there = {path.name for path in layer.iterdir()}
        for name in sorted(set(DEPS) - there):
            yield Finding("package-deps", "deps layer", f"lacks {name}")
        for name in sorted({*UNUSED, "bin"} & there):
            yield Finding("package-deps", "deps layer", f"carries {name}")
        foreign = [library.name for library in layer.rglob("*.so") if COMPILED_FOR not in library.name]
        for name in foreign:
            yield Finding("package-machine", name, f"is not compiled for {COMPILED_FOR}")


def _core(layers: list[Path]) -> Iterator[Finding]:
    if len(layers) != 1:
        yield Finding("package-core", "core layer", f"is there {len(layers)} times")
    for layer in layers:
        yield from _size(layer, "core layer")
        if not (layer / "tickwright" / "domain" / "__init__.py").exists():
            yield Finding("package-core", "core layer", "lacks the domain")


def _size(layer: Path, name: str) -> Iterator[Finding]:
    size = sum(path.stat().st_size for path in layer.rglob("*") if path.is_file())
    if size > LAYER_BYTES_MAX:
        yield Finding("package-size", name, f"has {size} bytes, more than {LAYER_BYTES_MAX}")
