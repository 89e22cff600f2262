"""docs/capacity.md: text that people write, with tables between marks that this writes.

Must not know what a table says. A mark is `<!-- cost: NAME -->`, its end `<!-- cost: end -->`.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from tools.cost import tables
from tools.cost.load import Load
from tools.cost.measured import Record

PAGE = Path(__file__).resolve().parents[2] / "docs" / "capacity.md"
_BLOCK = re.compile(r"(<!-- cost: (?P<name>(?!end)[a-z0-9-]+) -->\n).*?(<!-- cost: end -->)", re.DOTALL)

BLOCKS: Mapping[str, Callable[[Record], str]] = MappingProxyType(
    {
        "units": tables.units,
        "evidence": tables.evidence,
        "prices": tables.prices,
        "bill-small": lambda record: tables.bills(tables.variants(tables.SMALL), record),
        "bill-large": lambda record: tables.bills(tables.variants(tables.LARGE), record),
        "others-small": lambda _: tables.others(Load(executions_a_day=tables.SMALL)),
        "others-large": lambda _: tables.others(Load(executions_a_day=tables.LARGE)),
        "provisioned": lambda record: tables.provisioned(Load(executions_a_day=tables.SMALL), record),
        "idle-dev": tables.idle_dev,
        "idle-prod": tables.idle_prod,
        "storage": tables.stored,
        "due-index": tables.due_index,
        "work": tables.littles_law,
        "herd": tables.herd,
        "herd-places": tables.herd_places,
        "quotas": tables.quotas,
    }
)


def written(text: str, record: Record) -> str:
    """The page with every table as it is now."""
    named = [match["name"] for match in _BLOCK.finditer(text)]
    assert sorted(named) == sorted(BLOCKS), f"the page and the tool disagree on {set(named) ^ set(BLOCKS)}"
    return _BLOCK.sub(lambda match: f"{match[1]}\n{BLOCKS[match['name']](record)}\n\n{match[3]}", text)
