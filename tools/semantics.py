"""Writes docs/semantics.md: the promises of docs/semantics.d/ and what the code itself says of states and events.

    python tools/semantics.py write | check

The table of transitions, the diagram, the negative space, the reasons and the events are generated from the domain, so
that the page cannot say something else than the code does. `check` fails if the page is stale.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "layers" / "core" / "python"))

from tickwright.domain.events import EventName  # noqa: E402 - the path is set first
from tickwright.domain.reasons import REASONS  # noqa: E402
from tickwright.domain.transitions import IGNORED, REFUSED, TERMINAL, TRANSITIONS, Event, State  # noqa: E402

PARTS = ROOT / "docs" / "semantics.d"
PAGE = ROOT / "docs" / "semantics.md"
ORDER = (
    *("intro.md", "core.md", "options.md", "schedules.md", "api.md", "targets.md", "workers.md", "store.md"),
    "outages.md",
    "recovery.md",
    *("reasons.md", "not_promised.md"),
)
_EVENT = re.compile(r'^    (\w+) = "(\w+)"(?:  # (.*))?$', re.MULTILINE)


def page() -> str:
    """The whole page."""
    found = {path.name for path in PARTS.glob("*.md")}
    assert found == set(ORDER), f"docs/semantics.d and tools/semantics.py disagree on {sorted(found ^ set(ORDER))}"
    parts = [(PARTS / name).read_text().strip().replace("](../", "](") for name in ORDER]
    note = "<!-- Written by `make semantics` from docs/semantics.d and the domain: change those. -->"
    *before, reasons, last = parts
    return "\n\n".join([note, *before, _states(), reasons, _reasons(), _events(), last]) + "\n"


def _states() -> str:
    terminal = ", ".join(sorted(f"`{state.value}`" for state in TERMINAL))
    return "\n\n".join(
        (
            "## States of an execution",
            f"Terminal: {terminal}. Everything else goes on. The stores' conditions are derived from this table.",
            _diagram(),
            _table(
                ("from", "event", "only if", "to", "who may cause it", "besides"),
                (
                    (
                        f"`{row.source.value}`",
                        row.event.value,
                        row.only_if.value,
                        f"`{row.target.value}`",
                        row.fence.value,
                        "; ".join(effect.value for effect in row.effects),
                    )
                    for row in TRANSITIONS
                ),
            ),
            "### What has no row",
            "*Ignored*: a duplicate or late signal, which is normal. *Refused*: somebody is wrong, and is told so.",
            _table(
                ("event", "ignored in", "refused in"),
                ((event.value, _states_of(IGNORED, event), _states_of(REFUSED, event)) for event in Event),
            ),
        )
    )


def _states_of(pairs: frozenset[tuple[State, Event]], event: Event) -> str:
    return ", ".join(f"`{state.value}`" for state in State if (state, event) in pairs)


def _diagram() -> str:
    arrows: dict[tuple[str, str], list[str]] = {}
    for row in TRANSITIONS:
        arrows.setdefault((row.source.value, row.target.value), []).append(row.event.value)
    lines = [f"    {source} --> {target}: {', '.join(events)}" for (source, target), events in arrows.items()]
    ends = [f"    {state.value} --> [*]" for state in State if state in TERMINAL]
    starts = ["    [*] --> QUEUED: insert", "    [*] --> SKIPPED: insert"]
    return "\n".join(("```mermaid", "stateDiagram-v2", *starts, *lines, *ends, "```"))


def _reasons() -> str:
    return _table(
        ("reason", "status", "means", "what to do"),
        (
            (f"`{reason.value}`", ", ".join(f"`{state.value}`" for state in told.statuses), told.means, told.remedy)
            for reason, told in REASONS.items()
        ),
    )


def _events() -> str:
    source = (ROOT / "layers/core/python/tickwright/domain/events.py").read_text()
    rows = [(f"`{name}`", note or "") for _, name, note in _EVENT.findall(source)]
    assert len(rows) == len(EventName), "an event is written in a way that this page does not read"
    intro = "## Events\n\nLogs, metrics and alarms use these names and no others.\n\n"
    return intro + _table(("event", "carries"), rows)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main(arguments: list[str]) -> int:
    """Write the page, or say whether it is current."""
    match arguments:
        case ["write"]:
            PAGE.write_text(page())
            return 0
        case ["check"]:
            current = PAGE.exists() and PAGE.read_text() == page()
            print("docs/semantics.md is " + ("current" if current else "stale: run `make semantics`"))
            return 0 if current else 1
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
