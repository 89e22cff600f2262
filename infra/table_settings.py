"""How the truth is kept: what may go with its stack, how far back it can be taken, what it takes a second.

Must not know CDK, nor what is in a table (infra/stacks/data.py).
"""

from dataclasses import dataclass

from infra.required import require

# What a new table serves at once, unasked; a table can be warmed beyond it, and not below.
COLD_READ_UNITS, COLD_WRITE_UNITS = 12_000, 4_000
# How far back DynamoDB takes a table.
RECOVERY_DAYS_MIN, RECOVERY_DAYS_MAX = 1, 35
# How full Application Auto Scaling may be told to keep what it scales of DynamoDB.
USED_PERCENT_MIN, USED_PERCENT_MAX = 20, 90
# The indexes that no plain execution writes.
SELDOM = ("tenant", "waiting", "attention")


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
class Units:
    """Units a second that are there and paid for, used or not: what is provisioned is scaled between the two.

    A deployment begins with `least`, also where it takes a table that was on demand: what is over it is throttled until
    more is there, some minutes. Both the same is a capacity that stays.
    """

    least: int
    most: int

    def __post_init__(self) -> None:
        """Refuse what DynamoDB and CDK refuse."""
        allowed = f"from 1 to most, which is {self.most}"
        require(1 <= self.least <= self.most, "Units.least", self.least, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Of a table, without its indexes; or of an index."""

    reads: Units
    writes: Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """Jobs and executions paid for by the hour, not by the request: what pays where a load is even.

    Journal and control stay on demand: they have a few in a hundred units of an execution, and the bursts of callers.
    `make cost` says what a load takes of each. `seldom` is for each of the indexes that no plain execution writes:
    tenant (a job made or renamed), waiting (a retry in more than 15 minutes), attention (a death). What these cannot
    take when everything fails at once, their tables refuse.
    """

    jobs: Capacity
    due: Capacity
    executions: Capacity
    seldom: Capacity
    # How full it is kept. The rest is there for what grows faster than it is scaled.
    used_percent: int = 70

    def __post_init__(self) -> None:
        """Refuse what Application Auto Scaling refuses."""
        percent, allowed = self.used_percent, f"from {USED_PERCENT_MIN} to {USED_PERCENT_MAX}"
        require(USED_PERCENT_MIN <= percent <= USED_PERCENT_MAX, "Provisioned.used_percent", percent, allowed)

    def check_warm(self, warm: WarmThroughput) -> None:
        """Refuse less warmth than there is capacity from the first second, as DynamoDB does."""
        for name in ("jobs", "due", "executions"):
            for kind in ("read", "write"):
                least, units = getattr(getattr(self, name), f"{kind}s").least, getattr(warm, f"{kind}_units")
                allowed = f"{least} or more, as provisioned.{name}.{kind}s.least is"
                require(units >= least, f"TableSettings.warm.{kind}_units", units, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """How the truth is kept. A maximum guards the bill of what is on demand: beyond it DynamoDB throttles.

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
    provisioned: Provisioned | None = None
    customer_key: bool = False
    customer_key_granted: bool = False
    # Called by stack and role instead of by CloudFormation: for places where an update loses a table without a name of
    # its own. Anywhere else a name does nothing but refuse a replacement.
    named: bool = False

    def __post_init__(self) -> None:
        """Refuse what DynamoDB refuses, and warmth that a maximum would not let anybody use."""
        days, allowed = self.recovery_days, f"from {RECOVERY_DAYS_MIN} to {RECOVERY_DAYS_MAX}"
        require(RECOVERY_DAYS_MIN <= days <= RECOVERY_DAYS_MAX, "TableSettings.recovery_days", days, allowed)
        if self.warm and self.provisioned:
            self.provisioned.check_warm(self.warm)
        # What is warm is what would be provisioned, and has no maximum then.
        warm = None if self.provisioned else self.warm
        for name in ("read_units", "write_units"):
            most = getattr(self, f"{name}_max")
            least = 1 if warm is None else getattr(warm, name)
            allowed = f"{least} or more, as warm is, or None" if warm else "1 or more, or None"
            require(most is None or most >= least, f"TableSettings.{name}_max", most, allowed)
