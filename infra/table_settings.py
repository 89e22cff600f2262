"""How the truth is kept: what may go with its stack, how far back it can be taken, what it takes a second.

Must not know CDK, nor which tables there are (infra/stacks/data.py).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmThroughput:
    """Units a second that the busiest tables and indexes serve from the first second; charged once, never lowered."""

    read_units: int
    write_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """How the truth is kept. A maximum guards the bill: beyond it DynamoDB throttles."""

    retained: bool
    recovery_days: int
    read_units_max: int | None = None
    write_units_max: int | None = None
    warm: WarmThroughput | None = None
