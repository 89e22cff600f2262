"""What is packed: allow-listed files under keys that change with their content."""

import ast
import json
import shutil
import sys
from dataclasses import replace
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import aws_cdk as cdk
import pytest

from infra.app import build_app
from infra.bundling import bytecode, core_layer, deps_layer
from infra.bundling.sources import content_key, python_files
from infra.context import ROOT, context_of_cdk_json
from infra.packaging_settings import LAMBDA, Packaging
from infra.policy.packages import LAYER_BYTES_MAX, check_packages
from infra.required import SettingRefused
from infra.settings import STAGES


def key_of(folder: Path, packaging: Packaging = LAMBDA) -> str:
    return content_key(root=folder, files=python_files(folder), packaging=packaging, compiled_by="python")


def test_a_key_follows_content_and_path(tmp_path: Path) -> None:
    """Same files, same key; another byte or another name, another key."""
    (tmp_path / "a.py").write_text("one = 1\n", encoding="utf-8")
    before = key_of(tmp_path)

    again = key_of(tmp_path)
    (tmp_path / "a.py").write_text("one = 2\n", encoding="utf-8")
    changed = key_of(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    renamed = key_of(tmp_path)

    assert before == again
    assert len({before, changed, renamed}) == 3


def test_caches_of_the_interpreter_change_no_key(tmp_path: Path) -> None:
    """Running the tests must not make a new layer."""
    (tmp_path / "a.py").write_text("one = 1\n", encoding="utf-8")
    before = key_of(tmp_path)

    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.cpython-313.pyc").write_bytes(b"compiled")

    assert key_of(tmp_path) == before


def test_the_core_layer_holds_the_library_and_the_sdk_without_the_shell(tmp_path: Path) -> None:
    """`make run` needs packages that Lambda does not have, and a function does nothing that an operator does."""
    core_layer.CoreRecipe(LAMBDA).try_bundle(str(tmp_path), image=cdk.DockerImage.from_registry("scratch"))

    library = tmp_path / "python" / "tickwright"
    assert (library / "domain" / "__init__.py").exists()
    assert not (library / "local").exists()
    assert not (library / "operator").exists()
    assert (tmp_path / "python" / "tickwright_sdk" / "__init__.py").exists()


def test_each_function_carries_its_own_folder_and_no_other(tmp_path: Path) -> None:
    """A file that nobody listed is never shipped."""
    context = context_of_cdk_json(packaging=False)
    build_app(STAGES["dev"], context=context, outdir=str(tmp_path)).synth()

    names = ("api", "authorizer", "claim", "intake", "scheduler", "watch", "worker")
    carried = {
        tuple(sorted(path.name for path in functions.iterdir())) for functions in tmp_path.glob("asset.*/functions")
    }
    (image,) = {functions.parent for functions in tmp_path.glob("asset.*/functions") if image_of(functions)}

    assert carried == {("__init__.py", name) for name in (*names, "fargate_worker")}
    assert [path for path in tmp_path.glob("asset.*/*") if path.name != "functions" and path.parent != image] == []


def image_of(functions: Path) -> bool:
    return (functions / "fargate_worker" / "Dockerfile").exists()


def test_requirements_are_locked_by_hash_and_name_no_address() -> None:
    """What is installed is what was tested, wherever it is fetched from."""
    lines = deps_layer.REQUIREMENTS.read_text(encoding="utf-8").splitlines()

    pinned = [line for line in lines if "==" in line]

    assert pinned
    assert all(line.endswith("\\") for line in pinned)
    assert not [line for line in lines if "://" in line or line.startswith("-")]


def test_missing_requirements_are_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh clone without them says what to run."""
    monkeypatch.setattr(deps_layer, "REQUIREMENTS", ROOT / "layers" / "deps" / "absent.lock")

    with pytest.raises(SystemExit, match="Run `make lock`"):
        deps_layer.deps_code(LAMBDA)


def test_a_machine_without_lambda_s_interpreter_still_packs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The layer is complete but slower to start, and a line says so."""
    assert bytecode.compile_for_lambda(tmp_path, python="3.999") is False
    assert "without compiled files" in caplog.text


@pytest.mark.parametrize("layer", [core_layer, deps_layer])
def test_a_layer_that_is_not_compiled_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch, layer: ModuleType) -> None:
    """Under the key of the compiled one it would take its place, or lend it its slow start."""
    keys = []
    monkeypatch.setattr(layer, "bundled", lambda _source, *, key, recipe: keys.append(key))  # noqa: ARG005 - as it is called
    make = layer.core_code if layer is core_layer else layer.deps_code
    for interpreter in ("/usr/bin/python3.13", "/opt/bin/python3.13", None):
        monkeypatch.setattr(layer, "interpreter_of", lambda _python, found=interpreter: found)
        make(LAMBDA)

    compiled, elsewhere, bare = keys
    assert compiled == elsewhere != bare


def test_a_key_follows_whom_it_is_packed_for(tmp_path: Path) -> None:
    """Compiled files and wheels of another interpreter are other content."""
    (tmp_path / "a.py").write_text("one = 1\n", encoding="utf-8")
    keys = {
        key_of(tmp_path, packaging)
        for packaging in (LAMBDA, replace(LAMBDA, python="3.12"), replace(LAMBDA, wheels="x86_64-manylinux2014"))
    }

    assert len(keys) == 3


def test_what_no_wheel_is_tagged_with_is_refused() -> None:
    """A slip in the settings must not end in an empty layer."""
    with pytest.raises(SettingRefused):
        Packaging(python="three", wheels=LAMBDA.wheels)
    with pytest.raises(SettingRefused):
        Packaging(python=LAMBDA.python, wheels="sparc-solaris")


def test_this_machine_can_pack_for_itself() -> None:
    """The archives that a test runs are those of the interpreter that it has."""
    assert Packaging.of_this_machine().python == f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """An assembly whose archives are as they should be."""
    deps = tmp_path / "asset.deps" / "python"
    for name in ("aws_lambda_powertools", "botocore", "croniter", "dateutil", "pydantic", "pydantic_core", "tzdata"):
        (deps / name).mkdir(parents=True)
    (deps / "pydantic_core" / "core.cpython-313-aarch64-linux-gnu.so").write_bytes(b"")
    domain = tmp_path / "asset.core" / "python" / "tickwright" / "domain"
    domain.mkdir(parents=True)
    (domain / "__init__.py").write_bytes(b"")
    (tmp_path / "asset.api" / "functions" / "api").mkdir(parents=True)
    return tmp_path


def test_archives_as_they_should_be_pass(packed: Path) -> None:
    """The ground that the next tests break."""
    assert list(check_packages(packed)) == []


def test_a_wheel_for_another_machine_is_found(packed: Path) -> None:
    """It would fail at the first import, in production."""
    (packed / "asset.deps/python/pydantic_core/core.cpython-313-x86_64-linux-gnu.so").write_bytes(b"")

    assert [finding.rule for finding in check_packages(packed)] == ["package-machine"]


def test_a_missing_and_an_unused_package_are_found(packed: Path) -> None:
    """Lambda does not bring tzdata, and nothing asks for boto3."""
    shutil.rmtree(packed / "asset.deps/python/tzdata")
    (packed / "asset.deps/python/boto3").mkdir()

    messages = [finding.message for finding in check_packages(packed)]

    assert messages == ["lacks tzdata", "carries boto3"]


def test_a_layer_that_is_too_large_is_found(packed: Path) -> None:
    """Every megabyte is unpacked at each cold start."""
    with (packed / "asset.core/python/tickwright/big.bin").open("wb") as big:
        big.truncate(LAYER_BYTES_MAX + 1)

    assert [finding.rule for finding in check_packages(packed)] == ["package-size"]


def test_a_function_that_carries_more_than_its_own_is_found(packed: Path) -> None:
    """An allow-list that lets something through is not one."""
    (packed / "asset.api" / "secrets.txt").write_text("", encoding="utf-8")

    assert [finding.rule for finding in check_packages(packed)] == ["package-function"]


@pytest.fixture
def image(packed: Path) -> Path:
    """The same with what an image is made of."""
    context = packed / "asset.image"
    (context / "functions" / "machine").mkdir(parents=True)
    (context / "functions" / "machine" / "main.py").touch()
    (context / "lib").mkdir()
    (context / "lib" / "one.lock").touch()
    dockerfile = "FROM x AS y\nCOPY functions/machine/*.py /app/\nCOPY lib/one.lock /locks/\nCOPY --from=y /app /app\n"
    (context / "functions" / "machine" / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    return context


def test_an_image_made_of_what_its_dockerfile_copies_passes(packed: Path, image: Path) -> None:
    """What a later stage copies of an earlier one is not sent."""
    assert list(check_packages(packed)) == []


def test_an_image_that_gets_too_much_or_too_little_is_found(packed: Path, image: Path) -> None:
    """What is sent and not copied is shown to who builds for nothing; what is copied and not sent ends the build."""
    (image / "lib" / "one.lock").rename(image / "lib" / "secrets.txt")

    assert [finding.message for finding in check_packages(packed)] == ["carries lib/secrets.txt", "lacks lib/one.lock"]


def test_an_assembly_without_layers_is_found(tmp_path: Path) -> None:
    """Packing that was skipped must not pass for packing that worked."""
    assert {finding.rule for finding in check_packages(tmp_path)} == {"package-deps", "package-core"}


def test_the_flags_of_cdk_json_are_those_that_every_build_uses() -> None:
    """cdk.json is read by CDK's tool alone; the app reads it too, so that tests and deployments agree."""
    context = context_of_cdk_json()

    assert context["@aws-cdk/core:defaultCrossStackReferences"] == "strong"
    assert json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["versionReporting"] is False


def imported_by(files: list[Path]) -> set[str]:
    """The top-level packages that files import."""
    names: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module.partition(".")[0])
    return names


def test_lambda_has_every_package_that_the_functions_import() -> None:
    """From the layers: a package that only this machine has would fail the first invocation."""
    locked = {
        line.partition("==")[0].lower()
        for line in deps_layer.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    brought = {
        package
        for package, distributions in packages_distributions().items()
        if {name.lower().replace("_", "-") for name in distributions} & locked
    }

    shipped = [*core_layer.shipped(), *python_files(ROOT / "functions")]
    imported = imported_by([path for path in shipped if path.suffix == ".py"])

    assert imported - brought - set(sys.stdlib_module_names) == {"tickwright", "tickwright_sdk"}
