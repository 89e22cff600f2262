"""Is what Python finds ready made what it would have compiled itself?"""

import ast
import marshal
import re
import sys
from pathlib import Path
from typing import Any

import botocore
import pytest

from infra.bundling import core_layer
from infra.bundling.bytecode import interpreter_of
from infra.bundling.ready_made import bring_patterns
from tickwright import ready_made

THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = Path(botocore.__file__).parents[1]
CLIENT = ("botocore", "dateutil", "jmespath", "six.py", "urllib3")


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a folder with the AWS client in it, made by this interpreter."""
    folder = tmp_path_factory.mktemp("packages")
    for name in CLIENT:
        (folder / name).symlink_to(SITE / name)
    interpreter = interpreter_of(THIS)
    assert interpreter is not None
    bring_patterns(folder, interpreter=interpreter)
    (made,) = folder.glob("patterns.*.marshal")
    return made


def test_each_pattern_is_what_the_compiler_makes(patterns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python compares compiled patterns by their code; the compiler is asked for the one and not for the other."""
    compiler: Any = re._compiler  # type: ignore[attr-defined]  # noqa: SLF001 - what the product stands in for
    compile_it = compiler.compile
    monkeypatch.setattr(compiler, "compile", compile_it)
    asked = list(marshal.loads(patterns.read_bytes()))  # noqa: S302 - made above
    fresh = [compile_it(pattern, flags) for pattern, flags in asked]

    assert ready_made.use_ready_made(Path("none"), patterns) == 1
    monkeypatch.setattr(re._parser, "parse", None)  # type: ignore[attr-defined]  # noqa: SLF001 - it would be called
    brought = [compiler.compile(pattern, flags) for pattern, flags in asked]

    assert len(asked) > 50
    assert brought == fresh
    assert [(one.groupindex, one.groups) for one in brought] == [(one.groupindex, one.groups) for one in fresh]


def test_a_pattern_that_is_not_there_is_compiled_as_ever(patterns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other flags are another pattern, and bytes are no text."""
    compiler: Any = re._compiler  # type: ignore[attr-defined]  # noqa: SLF001 - what the product stands in for
    monkeypatch.setattr(compiler, "compile", compiler.compile)
    ready_made.use_ready_made(Path("none"), patterns)
    pattern, flags = next(iter(marshal.loads(patterns.read_bytes())))  # noqa: S302 - made above
    other = flags ^ re.IGNORECASE

    assert re.compile(pattern, other).flags & re.IGNORECASE == other & re.IGNORECASE
    assert re.compile(r"([a-q]{3})-unheard-of").findall("abc-unheard-of") == ["abc"]
    with pytest.raises(re.error, match="unterminated"):
        re.compile("(of")


def test_whatever_is_shipped_imports_what_is_shipped() -> None:
    """A module that lacks another would be recorded by nobody, and fail whoever imports it."""
    folder, files = core_layer.LIBRARY, core_layer.shipped()
    modules = {".".join(path.relative_to(folder).with_suffix("").parts) for path in files if folder in path.parents}
    modules |= {name.removesuffix(".__init__") for name in modules}

    missing = {
        (path.name, node.module)
        for path in files
        if folder in path.parents and path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("tickwright.")
        if node.module not in modules
    }

    assert missing == set()


def test_without_files_all_is_compiled() -> None:
    """As where no interpreter was found when the layer was packed."""
    assert ready_made.use_ready_made(Path("none"), Path("none")) == 0
