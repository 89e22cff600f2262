"""Do the examples need no more than what they are started with?"""

import ast
import re
import sys
from pathlib import Path

from tools.environment import RUN_LOCKS

ROOT = Path(__file__).parents[2]
OURS = {"examples", "tickwright", "tickwright_sdk"}


def imported() -> set[str]:
    """The packages of others that the examples import."""
    found: set[str] = set()
    for path in (ROOT / "examples").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
    return found - OURS - sys.stdlib_module_names


def test_the_demonstrations_run_in_the_small_environment() -> None:
    """Python and make are enough for a newcomer: none of the tools of development is installed for them."""
    locked = {name for lock in RUN_LOCKS for name in re.findall(r"^([a-z0-9-]+)==", lock.read_text(), re.MULTILINE)}

    assert imported() == {"boto3", "botocore"}
    assert imported() <= locked
    assert re.search(r"^demo-billing: setup-run ##", (ROOT / "Makefile").read_text(), re.MULTILINE)
