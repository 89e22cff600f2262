"""Writes what infra/policy says of rights into the documents: docs/security.md, docs/deploy.md, and a policy for IAM.

    python tools/rights.py write | check

Of infra/policy/grants.py one row for each function and resource; of infra/policy/execution.py one for each service, and
the policy itself. `check` fails if a page says something else than the code.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from infra.policy.execution import SERVICES, Service, policy  # noqa: E402 - the path is set first
from infra.policy.grants import GRANTS, Grant  # noqa: E402 - the path is set first

_BLOCK = re.compile(r"(<!-- rights -->\n).*?(<!-- rights: end -->)", re.DOTALL)


def table() -> str:
    """Who may do what to what."""
    rows = [_row(who, grant) for who, grants in GRANTS.items() for grant in grants]
    return "\n".join(("| who | on what | only keys that begin with | may |", "| --- | --- | --- | --- |", *rows))


def _row(who: str, grant: Grant) -> str:
    keys = ", ".join(f"`{key}`" for key in grant.keys) or "all"
    actions = ", ".join(action.partition(":")[2] for action in grant.actions)
    return f"| `{who}` | {grant.resource.value} | {keys} | {actions} |"


def services() -> str:
    """Of what CloudFormation makes what."""
    return "\n".join(
        (
            "| service | resources of every stage | by a setting | actions |",
            "| --- | --- | --- | --- |",
            *map(_service_row, SERVICES),
        )
    )


def _service_row(service: Service) -> str:
    kinds = ", ".join(service.kinds) or "none"
    by_setting = ", ".join(f"{kind} (`{setting}`)" for kind, setting in service.settings.items())
    actions = f"`{service.actions}:*`" if service.actions else "of roles alone, below"
    return f"| {service.name} | {kinds} | {by_setting} | {actions} |"


def _with(table_of: Callable[[], str]) -> Callable[[str], str]:
    def written(text: str) -> str:
        assert len(_BLOCK.findall(text)) == 1, "the page has no place for its table of rights"
        return _BLOCK.sub(lambda found: f"{found[1]}\n{table_of()}\n\n{found[2]}", text)

    return written


def _policy(_: str) -> str:
    return json.dumps(policy(), indent=2) + "\n"


# What each file is to be, by what it is.
WRITTEN: Mapping[str, Callable[[str], str]] = {
    "docs/security.md": _with(table),
    "docs/deploy.md": _with(services),
    "infra/policy/execution.json": _policy,
}


def stale() -> list[str]:
    """Files that say something else than the code."""
    return [name for name, written in WRITTEN.items() if (text := _read(name)) != written(text)]


def _read(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def main(arguments: list[str]) -> int:
    """Write the tables, or say whether they are current."""
    match arguments:
        case ["write"]:
            for name in stale():
                (ROOT / name).write_text(WRITTEN[name](_read(name)), encoding="utf-8")
            return 0
        case ["check"]:
            found = stale()
            print("; ".join(f"{name} is stale: run `make rights`" for name in found) or "the rights are current")
            return 1 if found else 0
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
