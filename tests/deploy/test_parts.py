"""Would a deploy find what it changes and starts? The cheap part of that, at every test run."""

import ast

import pytest

from tests.deploy import next_version
from tests.deploy.ground import ROOT
from tests.deploy.image import DOCKERFILE, HANDLERS, described, instructions
from tests.deploy.next_version import Edit, edited


@pytest.mark.parametrize("edit", next_version.EDITS, ids=lambda edit: edit.file)
def test_the_next_version_changes_a_line_that_is_there(edit: Edit) -> None:
    """And what it makes of it is Python."""
    text = (ROOT / edit.file).read_text(encoding="utf-8")

    changed = edited(text, edit)

    assert changed != text
    assert ast.parse(changed).body


def test_an_edit_that_fits_nowhere_is_told() -> None:
    """Nothing would be updated, and the deploy would show nothing."""
    with pytest.raises(AssertionError, match=r"x\.py"):
        edited("one = 1\n", Edit(file="x.py", old="two", new="three"))


def test_the_image_begins_as_its_dockerfile_says() -> None:
    """Every instruction is one that is done or known to be a container's; paths lead into the folder."""
    image = described(ROOT, ROOT / "somewhere")

    assert image.entrypoint == ("python", "-m", "functions.fargate_worker.main")
    assert image.workdir == ROOT / "somewhere" / "app"
    assert image.environment["PYTHONPATH"].split(":")[0] == str(ROOT / "somewhere" / "app" / "library")
    assert image.environment["TICKWRIGHT_HANDLERS"] == f"{HANDLERS.stem}:worker"
    assert (ROOT / HANDLERS).is_file()


def test_lines_that_go_on_are_one_instruction() -> None:
    """Comments are none."""
    found = list(instructions('# FROM nothing\nENV A=1 \\\n    B=2\n\nRUN ["x"]\n'))

    assert found == [("ENV", "A=1      B=2"), ("RUN", '["x"]')]
    assert next(instructions((ROOT / DOCKERFILE).read_text(encoding="utf-8")))[0] == "ARG"
