"""Which tables there are, by role, and what each is called in this installation."""

from dataclasses import dataclass
from enum import Enum


class Table(Enum):
    """A table by its role."""

    JOBS = "jobs"
    EXECUTIONS = "executions"
    JOURNAL = "journal"
    CONTROL = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    """What the tables are called here; infra/ gives them as environment variables."""

    jobs: str
    executions: str
    journal: str
    control: str

    def of(self, table: Table) -> str:
        """The name of one table."""
        name: str = getattr(self, table.value)
        return name
