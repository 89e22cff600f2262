"""How the truth is kept: what may go with its stack, how far back it can be taken, what it takes a second.

Must not know CDK, nor which tables there are (infra/stacks/data.py).
"""

from dataclasses import dataclass

from infra.required import require

# What a new table serves at once, unasked; a table can be warmed beyond it, and not below.
COLD_READ_UNITS, COLD_WRITE_UNITS = 12_000, 4_000
# How far back DynamoDB takes a table.
RECOVERY_DAYS_MIN, RECOVERY_DAYS_MAX = 1, 35


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmThroughput:
    """Units a second that the busiest tables and indexes serve from the first second; charged once, never lowered."""

    read_units: int
    write_units: int

    def __post_init__(self) -> None:
        """Refuse what DynamoDB refuses: less than a table has unasked."""
        read, write = self.read_units, self.write_units
        allowed = f"{COLD_READ_UNITS} or more: a new table has that unasked"
        require(read >= COLD_READ_UNITS, "WarmThroughput.read_units", read, allowed)
        allowed = f"{COLD_WRITE_UNITS} or more: a new table has that unasked"
        require(write >= COLD_WRITE_UNITS, "WarmThroughput.write_units", write, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """How the truth is kept. A maximum guards the bill: beyond it DynamoDB throttles.

    `retained`: tables, their key and their logs stay when the stack goes, and nobody deletes them by mistake.
    `customer_key`: under a key of the installation's own, which costs $1 a month and can be taken away from everybody.
    `customer_key_granted`: the key is there, and all may use it, and no table is under it yet: the step before, and the
    step back, of an installation that has tables already.
    The queues of the intake stay and are encrypted as the tables are: they hold submissions, whole, that were
    acknowledged. The other queues and the logs hold hints and events, and no tenant's data.
    """

    retained: bool
    recovery_days: int
    read_units_max: int | None = None
    write_units_max: int | None = None
    warm: WarmThroughput | None = None
    customer_key: bool = False
    customer_key_granted: bool = False
    # Called by stack and role instead of by CloudFormation: for places where an update loses a table without a name of
    # its own. Anywhere else a name does nothing but refuse a replacement.
    named: bool = False

    def __post_init__(self) -> None:
        """Refuse what DynamoDB refuses, and warmth that a maximum would not let anybody use."""
        days, allowed = self.recovery_days, f"from {RECOVERY_DAYS_MIN} to {RECOVERY_DAYS_MAX}"
        require(RECOVERY_DAYS_MIN <= days <= RECOVERY_DAYS_MAX, "TableSettings.recovery_days", days, allowed)
        for name in ("read_units", "write_units"):
            most = getattr(self, f"{name}_max")
            least = 1 if self.warm is None else getattr(self.warm, name)
            allowed = f"{least} or more, as warm is, or None" if self.warm else "1 or more, or None"
            require(most is None or most >= least, f"TableSettings.{name}_max", most, allowed)
