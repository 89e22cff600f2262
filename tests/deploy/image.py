"""The fleet's image as a folder: `python -m tests.deploy.image TREE FOLDER` makes it, as its Dockerfile says.

The Dockerfile is done without Docker, and read, not repeated: a file that it forgets is missing here as well. Both of
its stages share one root, since the second takes the first's whole `/app`. Not shown: its base image and its user.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

DOCKERFILE = Path("functions/fargate_worker/Dockerfile")
_OF_CONTENT = frozenset({"COPY", "RUN"})
_OF_BEGINNING = frozenset({"ENV", "WORKDIR", "ENTRYPOINT"})
# What is a container's alone: who it runs as, which signal stops it, how it is asked.
_OF_CONTAINERS = frozenset({"ARG", "FROM", "VOLUME", "USER", "STOPSIGNAL", "HEALTHCHECK"})
# The handlers that an image on top of this one brings, as docs/fleet.md has it.
HANDLERS = Path("tests/deploy/fleet_handlers.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A folder that stands for `/`, and how a container of it begins."""

    root: Path
    workdir: Path
    environment: Mapping[str, str]
    entrypoint: tuple[str, ...]


def described(tree: Path, root: Path) -> Image:
    """How a container of the image begins, by the Dockerfile of one version of the product."""
    found: dict[str, str] = {}
    workdir = root
    entrypoint: tuple[str, ...] = ()
    for instruction, rest in instructions((tree / DOCKERFILE).read_text(encoding="utf-8")):
        match instruction:
            case "ENV":
                found |= dict(pair.split("=", 1) for pair in rest.split())
            case "WORKDIR":
                workdir = at(root, rest)
            case "ENTRYPOINT":
                entrypoint = tuple(json.loads(rest))
            case other:
                assert other in _OF_CONTENT or other in _OF_CONTAINERS, other
    found["PYTHONPATH"] = ":".join(str(at(root, path)) for path in found["PYTHONPATH"].split(":"))
    found["TICKWRIGHT_HANDLERS"] = f"{HANDLERS.stem}:worker"
    assert entrypoint
    return Image(root=root, workdir=workdir, environment=found, entrypoint=entrypoint)


def build(tree: Path, root: Path) -> None:
    """Put together what is in the image, with the handlers of this test on top."""
    for instruction, rest in instructions((tree / DOCKERFILE).read_text(encoding="utf-8")):
        match instruction:
            case "COPY":
                _copy(rest, tree=tree, root=root)
            case "RUN":
                _run(json.loads(rest), root=root)
            case other:
                assert other in _OF_BEGINNING or other in _OF_CONTAINERS, other
    handlers = at(root, "/app/handlers")
    handlers.mkdir(parents=True)
    shutil.copy(tree / HANDLERS, handlers)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction of a Dockerfile with what stands behind it, continued lines joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def at(root: Path, path: str) -> Path:
    """A path of the image, here."""
    return root / path.lstrip("/")


def _copy(rest: str, *, tree: Path, root: Path) -> None:
    """As Docker does: of a folder its contents, of a pattern each file; within the image there is nothing to do."""
    if rest.startswith("--from="):
        _, source, target = rest.split()
        assert source == target, rest
        return
    source, target = rest.split()
    into = at(root, target)
    if (tree / source).is_dir():
        shutil.copytree(tree / source, into, ignore=shutil.ignore_patterns("__pycache__"))
        return
    files = sorted(tree.glob(source))
    if not files:
        raise SystemExit(f"the Dockerfile copies {source}, which is not there")
    for file in files:
        copy = into / file.name if target.endswith("/") else into
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)


def _run(command: list[str], *, root: Path) -> None:
    assert command[0] == "python", command
    here = [str(at(root, part)) if part.startswith("/") else part for part in command[1:]]
    subprocess.run([sys.executable, *here], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
