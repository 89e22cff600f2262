"""All that a stage decides, checked when it is read.

Must not know CDK. What one thing may be is checked beside it (infra/*_settings.py); here is what holds between them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from infra.alarm_settings import QUEUE_DELAY_S_MAX, AlarmSettings
from infra.door_settings import ApiSettings
from infra.fleet_settings import FleetSettings
from infra.function_settings import (
    API_TIMEOUT_S_MAX,
    LAMBDA_TIMEOUT_S_MAX,
    LOOPS_PER_SLOT,
    SCHEDULER_TIMEOUT_S_MIN,
    UNRESERVED_MIN,
    FunctionSettings,
    ReleaseSettings,
)
from infra.lane_settings import LANES, Pollers, concurrency_of
from infra.packaging_settings import LAMBDA, Packaging
from infra.table_settings import TableSettings

# Names of stacks, queues and rules begin with the stage's and a hyphen: with one in it, a stage's things would be taken
# for another's. The name of a pool's queue has 80 characters in all.
STAGE = re.compile(r"[a-z][a-z0-9]{0,15}")
BUCKETS_MAX = 1_024
# The fences of a job's runs leave room for so many epochs of one run (tickwright.domain.limits).
EPOCH_BASE_MAX = 900_000
# A claim of a pool may wait so long, and then has to claim.
CLAIM_WAIT_S_MAX = 20
# Every claim that would wait reads the seats of its tenant.
CLAIM_SEATS_MAX = 100
# A function's environment holds 4 KB in all, as JSON: 2,700 characters of the API's are names, addresses, secrets and
# the cache's address, and each service of the fleet adds the name of its log group (tests/infra/test_environment.py).
ENVIRONMENT_ROOM, LOG_GROUP_CHARS = 1_350, 85
STATUS_CACHE_CHARS_MAX = 100
ARN_COLONS = 5
# How a pattern begins that names handlers and no resource.
HANDLERS = "python:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that a stage decides."""

    stage: str
    buckets: int
    scale: str
    log_level: str
    log_retention_days: int
    account_concurrency: int
    tables: TableSettings
    api_gateway: ApiSettings
    scheduler_slots: int
    lane_concurrency: Mapping[str, int]
    api: FunctionSettings
    claim: FunctionSettings
    # Each claim that waits holds a place of that function: of one tenant's so many do, the others ask again.
    claim_seats: int
    authorizer: FunctionSettings
    scheduler: FunctionSettings
    watch: FunctionSettings
    worker: FunctionSettings
    fleet: FleetSettings
    # Which resources the targets of a tenant (`*`: of every tenant) may name, as ARN patterns; the rights follow them.
    # `python:billing.*` names handlers of the fleet; where no tenant has such a pattern, everybody may call each.
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The roles that the task definitions among them give their containers.
    target_roles: tuple[str, ...] = ()
    # A lane that has pollers of its own instead of a number in `lane_concurrency`.
    lane_pollers: Mapping[str, Pollers] = field(default_factory=dict)
    packaging: Packaging = LAMBDA
    release: ReleaseSettings = field(default_factory=ReleaseSettings)
    alarms: AlarmSettings = field(default_factory=AlarmSettings)
    # Whether the API accepts submissions while the store does not answer: 202, which clients have to know. What was
    # accepted lands in any case.
    intake: bool = False
    landing: FunctionSettings = field(default_factory=lambda: FunctionSettings(memory_mib=512, timeout_s=60))
    # `rediss://host:port` of a Valkey that all processes of the API share for copies of statuses; empty: each has its
    # own. It must be reachable by a function that is in no VPC.
    status_cache: str = ""
    # How many buckets the loops look at, where that is more than are written to: raised a deployment before `buckets`.
    buckets_served: int = 0
    # Where the epochs of this installation begin: with each recovery as many higher as the one before may have used.
    epoch_base: int = 0
    # Rules, mappings and machines are off, and all else is there: an old installation, and a new one that is looked at
    # before it begins.
    stopped: bool = False

    def __post_init__(self) -> None:
        """Refuse what AWS would refuse an hour later, or what would starve a lane."""
        assert STAGE.fullmatch(self.stage), "a stage is named by small letters and digits"
        assert 1 <= self.buckets <= BUCKETS_MAX
        assert self.buckets_served == 0 or self.buckets <= self.buckets_served <= BUCKETS_MAX
        assert 0 <= self.epoch_base <= EPOCH_BASE_MAX
        assert 0 < float(self.scale) <= 1
        assert 1 <= self.scheduler_slots <= self.buckets
        assert concurrency_of(self.lane_concurrency, self.lane_pollers) <= self.account_concurrency
        assert max(self.api.timeout_s, self.claim.timeout_s) <= API_TIMEOUT_S_MAX
        assert self.claim.timeout_s > CLAIM_WAIT_S_MAX
        assert 1 <= self.claim_seats <= CLAIM_SEATS_MAX
        assert self.scheduler.timeout_s >= SCHEDULER_TIMEOUT_S_MIN
        assert self.status_cache.partition("://")[0] in {"", "rediss", "valkeys"}  # over the open network
        assert len(self.status_cache) <= STATUS_CACHE_CHARS_MAX
        for function in self.functions.values():
            assert function.timeout_s <= LAMBDA_TIMEOUT_S_MAX
        assert self.fleet.lanes == set(LANES)
        self._check_reservations()
        self._check_targets()
        self._check_alarms()

    @property
    def functions(self) -> Mapping[str, FunctionSettings]:
        """Every function of the installation, by name."""
        return {
            "api": self.api,
            "claim": self.claim,
            "authorizer": self.authorizer,
            "intake": self.landing,
            "scheduler": self.scheduler,
            "watch": self.watch,
            "worker": self.worker,
        }

    @property
    def targets_text(self) -> str:
        """The allowed targets as the functions are told them."""
        return json.dumps({tenant: list(these) for tenant, these in self.targets.items()}, separators=(",", ":"))

    def _check_reservations(self) -> None:
        """A reservation below what the lanes or slots may ask for turns into throttles that burn receive counts."""
        reserved = [f.reserved_concurrency for f in self.functions.values() if f.reserved_concurrency is not None]
        assert sum(reserved) + UNRESERVED_MIN <= self.account_concurrency or not reserved
        if self.claim.reserved_concurrency is not None:
            assert self.claim.reserved_concurrency >= 2 * self.claim_seats  # no tenant's idle machines fill it
        if self.worker.reserved_concurrency is not None:
            assert self.worker.reserved_concurrency >= concurrency_of(self.lane_concurrency, self.lane_pollers)
        if self.scheduler.reserved_concurrency is not None:
            assert self.scheduler.reserved_concurrency >= LOOPS_PER_SLOT * self.scheduler_slots

    def _check_targets(self) -> None:
        """A pattern may leave the end of a name open; service, region and account are always said."""
        patterns = [pattern for patterns in self.targets.values() for pattern in patterns]
        for arn in (*arns_among(patterns), *self.target_roles):
            assert arn.startswith("arn:aws"), arn
            assert arn.count(":") >= ARN_COLONS, arn
            *place, resource = arn.split(":", ARN_COLONS)
            assert not any("*" in part or "?" in part for part in place), arn
            assert not resource.startswith("*"), arn
        assert all(":iam::" in arn for arn in self.target_roles)
        # As the environment's own JSON has it: with tenants' names, and each quotation mark twice.
        named = LOG_GROUP_CHARS * len(self.fleet.services)
        assert len(json.dumps(self.targets_text)) + named <= ENVIRONMENT_ROOM, "too many targets for an environment"

    def _check_alarms(self) -> None:
        """Of lanes that exist; a hint that waits while its run goes on, or until its time, is no news."""
        alarms = self.alarms
        assert {*alarms.dispatch_lag_ms, *alarms.oldest_hint_s} <= set(LANES)
        for age_s in alarms.oldest_hint_s.values():
            assert age_s > self.worker.timeout_s + QUEUE_DELAY_S_MAX


def arns_among(patterns: Iterable[str]) -> list[str]:
    """Those that name resources; the others name handlers."""
    return [pattern for pattern in patterns if not pattern.startswith(HANDLERS)]
