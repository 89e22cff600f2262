"""Writes the table of rights in docs/security.md, of infra/policy/grants.py.

    python tools/rights.py write | check

One row for each function and resource. `check` fails if the page says something else than the code grants.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from infra.policy.grants import GRANTS, Grant  # noqa: E402 - the path is set first

PAGE = ROOT / "docs" / "security.md"
_BLOCK = re.compile(r"(<!-- rights -->\n).*?(<!-- rights: end -->)", re.DOTALL)


def table() -> str:
    """Who may do what to what."""
    rows = [_row(who, grant) for who, grants in GRANTS.items() for grant in grants]
    return "\n".join(("| who | on what | only keys that begin with | may |", "| --- | --- | --- | --- |", *rows))


def _row(who: str, grant: Grant) -> str:
    keys = ", ".join(f"`{key}`" for key in grant.keys) or "all"
    actions = ", ".join(action.partition(":")[2] for action in grant.actions)
    return f"| `{who}` | {grant.resource.value} | {keys} | {actions} |"


def written(text: str) -> str:
    """The page with the table as it is now."""
    assert len(_BLOCK.findall(text)) == 1, "docs/security.md has no place for the table of rights"
    return _BLOCK.sub(lambda found: f"{found[1]}\n{table()}\n\n{found[2]}", text)


def main(arguments: list[str]) -> int:
    """Write the table, or say whether it is current."""
    text = PAGE.read_text(encoding="utf-8")
    match arguments:
        case ["write"]:
            PAGE.write_text(written(text), encoding="utf-8")
            return 0
        case ["check"]:
            current = text == written(text)
            print("docs/security.md is " + ("current" if current else "stale: run `make rights`"))
            return 0 if current else 1
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
