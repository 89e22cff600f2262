"""What a function may use, and what Lambda and API Gateway would refuse.

Must not know CDK, nor what a function is for (infra/stage_settings.py).
"""

from dataclasses import dataclass

from infra.required import require

# Lambda keeps this much of an account's concurrency for functions without a reservation and refuses more.
UNRESERVED_MIN = 100
LAMBDA_TIMEOUT_S_MAX = 900
MEMORY_MIB_MIN, MEMORY_MIB_MAX = 128, 10_240
# API Gateway waits 29 s for an answer; a function that outlives it works for nobody.
API_TIMEOUT_S_MAX = 28
# Minute rules may be 119 s apart, since each may come anywhere in its minute: a loop has to last longer than that.
SCHEDULER_TIMEOUT_S_MIN = 135
# A slot's loop starts each minute and lasts a little over two: three overlap, four when the minutes come unevenly.
LOOPS_PER_SLOT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings:
    """What one function may use. No reservation means, on purpose: a share of the account's common pool."""

    memory_mib: int
    timeout_s: int
    reserved_concurrency: int | None = None

    def __post_init__(self) -> None:
        """Refuse what Lambda refuses."""
        memory, timeout, reserved = self.memory_mib, self.timeout_s, self.reserved_concurrency
        allowed = f"from {MEMORY_MIB_MIN} to {MEMORY_MIB_MAX}"
        require(MEMORY_MIB_MIN <= memory <= MEMORY_MIB_MAX, "FunctionSettings.memory_mib", memory, allowed)
        allowed = f"from 1 to {LAMBDA_TIMEOUT_S_MAX}"
        require(1 <= timeout <= LAMBDA_TIMEOUT_S_MAX, "FunctionSettings.timeout_s", timeout, allowed)
        allowed = "0 (off) or more, or None: a share of what the account has"
        require(reserved is None or reserved >= 0, "FunctionSettings.reserved_concurrency", reserved, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSettings:
    """How a new version comes into use. All off: each function is replaced at once, and what was before is gone.

    `aliased`: functions are called through the alias `live`, and earlier versions stay to go back to.
    `snap_start`: the API, its authorizer and the workers start from a snapshot of a process that has imported all; the
    loops do not need it, since they are started each minute. Versions do not stay then: each snapshot is paid for.
    `canary`: a tenth of the API's callers have the new version for five minutes; alarms take it back. The others are
    replaced at once: two versions of a loop or a worker beside each other prove nothing in five minutes.
    `heeds_alarms`: false for the release that repairs an API whose alarms ring: they would take the repair back.
    """

    aliased: bool = False
    snap_start: bool = False
    canary: bool = False
    heeds_alarms: bool = True

    def __post_init__(self) -> None:
        """Snapshots and canaries are of versions, and a version is called by its alias."""
        for name in ("snap_start", "canary"):
            wanted = getattr(self, name)
            require(self.aliased or not wanted, f"ReleaseSettings.{name}", wanted, "it takes aliased=True")
