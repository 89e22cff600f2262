"""The product's next version, as far as this test needs one: a new attribute, a new index, and code that writes it.

A copy of the tree with three lines changed. It stands for what a real version does to an installation: a table gets an
index, rows get an attribute that older code does not know, and every function gets other code. Each change is exact:
where its line is no longer there, this ends with its name.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import tickwright
from tests.deploy.ground import ROOT

INDEX = ATTRIBUTE = "rehearsal"
FORMER, VERSION = tickwright.__version__, f"{tickwright.__version__}+rehearsal"
# All that the app is made from, and that starts it.
_PARTS = (
    "app.py",
    "cdk.json",
    "functions",
    "infra",
    "layers",
    "requirements",
    "tests/__init__.py",
    "tests/deploy",
    "tests/support",
)
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules", "cdk.out")


_OF_EXECUTIONS = """\
        name=EXECUTIONS,
        keys=("jobId", "key"),
        ttl="ttl",
        busy=True,
        indexes=(
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One text in one file, and what stands there in the next version."""

    file: str
    old: str
    new: str


EDITS = (
    Edit(
        file="layers/core/python/tickwright/__init__.py",
        old=f'__version__ = "{FORMER}"',
        new=f'__version__ = "{VERSION}"',
    ),
    Edit(
        file="layers/core/python/tickwright/adapters/dynamodb/items/executions.py",
        old="    return _EXECUTION.attributes(execution)\n",
        new=f'    return _EXECUTION.attributes(execution) | {{"{ATTRIBUTE}": {{"S": execution.key}}}}\n',
    ),
    Edit(
        file="infra/stacks/data.py",
        old=_OF_EXECUTIONS,
        new=f'{_OF_EXECUTIONS}            _Index(name="{INDEX}", partition="tenantId", sort=("{ATTRIBUTE}", _TEXT),\n'
        "                   projection=dynamodb.ProjectionType.KEYS_ONLY),\n",
    ),
)


def next_tree(folder: Path) -> Path:
    """Write the next version into a folder of this name."""
    tree = folder / "next"
    for part in _PARTS:
        copy = tree / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy, ignore=_NOT_COPIED)
        else:
            shutil.copy(ROOT / part, copy)
    for edit in EDITS:
        file = tree / edit.file
        file.write_text(edited(file.read_text(encoding="utf-8"), edit), encoding="utf-8")
    return tree


def edited(text: str, edit: Edit) -> str:
    """The text with the change, which fits exactly once."""
    assert text.count(edit.old) == 1, f"the line that {edit.file} was changed at is no longer there"
    return text.replace(edit.old, edit.new)
