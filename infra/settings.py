"""What differs between the stages of an installation, typed once and checked when it is read.

Must not know CDK. Every number has its reason beside it. A function's environment is written from here
(infra/environment.py), so a variable cannot be misspelt.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from infra.alarm_settings import QUEUE_DELAY_S_MAX, AlarmSettings
from infra.fleet_settings import FleetSettings, ImageSettings, ServiceSettings
from infra.packaging_settings import LAMBDA, Packaging

LANES = ("high", "normal", "low", "backfill")

# Lambda keeps this much of an account's concurrency for functions without a reservation and refuses more.
UNRESERVED_MIN = 100
# A mapping polls with 2 to 1,000 concurrent invocations.
MAPPING_CONCURRENCY_MIN, MAPPING_CONCURRENCY_MAX = 2, 1_000
BUCKETS_MAX = 1_024
# The fences of a job's runs leave room for so many epochs of one run (tickwright.domain.limits).
EPOCH_BASE_MAX = 950_000
LAMBDA_TIMEOUT_S_MAX = 900
# API Gateway waits 29 s for an answer; a function that outlives it works for nobody.
API_TIMEOUT_S_MAX = 28
# A claim of a pool may wait so long, and then has to claim.
CLAIM_WAIT_S_MAX = 20
# Every claim that would wait reads the seats of its tenant.
CLAIM_SEATS_MAX = 100
# A function's environment holds 4 KB in all, names and secrets among them.
TARGETS_CHARS_MAX = 1_800
ARN_COLONS = 5
# How a pattern begins that names handlers and no resource.
HANDLERS = "python:"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """What the front door lets through, for all tenants together; each tenant's own limits are in the product."""

    rate_per_s: int
    burst: int
    # A revoked key opens the door for this long.
    authorizer_cache_s: int
    # Logs of API Gateway need a role that an account has once. False where another stack of the account has set it.
    sets_account_log_role: bool = True


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
    packaging: Packaging = LAMBDA
    alarms: AlarmSettings = field(default_factory=AlarmSettings)
    # How many buckets the loops look at, where that is more than are written to: raised a deployment before `buckets`.
    buckets_served: int = 0
    # Where the epochs of this installation begin: with each recovery as many higher as the one before may have used.
    epoch_base: int = 0

    def __post_init__(self) -> None:
        """Refuse what AWS would refuse an hour later, or what would starve a lane."""
        assert 1 <= self.buckets <= BUCKETS_MAX
        assert self.buckets_served == 0 or self.buckets <= self.buckets_served <= BUCKETS_MAX
        assert 0 <= self.epoch_base <= EPOCH_BASE_MAX
        assert 0 < float(self.scale) <= 1
        assert 1 <= self.scheduler_slots <= self.buckets
        assert tuple(self.lane_concurrency) == LANES
        for most in self.lane_concurrency.values():
            assert MAPPING_CONCURRENCY_MIN <= most <= MAPPING_CONCURRENCY_MAX
        assert max(self.api.timeout_s, self.claim.timeout_s) <= API_TIMEOUT_S_MAX
        assert self.claim.timeout_s > CLAIM_WAIT_S_MAX
        assert 1 <= self.claim_seats <= CLAIM_SEATS_MAX
        assert self.scheduler.timeout_s >= SCHEDULER_TIMEOUT_S_MIN
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
            "scheduler": self.scheduler,
            "watch": self.watch,
            "worker": self.worker,
        }

    def _check_reservations(self) -> None:
        """A reservation below what the lanes or slots may ask for turns into throttles that burn receive counts."""
        reserved = [f.reserved_concurrency for f in self.functions.values() if f.reserved_concurrency is not None]
        assert sum(reserved) + UNRESERVED_MIN <= self.account_concurrency or not reserved
        if self.claim.reserved_concurrency is not None:
            assert self.claim.reserved_concurrency >= 2 * self.claim_seats  # no tenant's idle machines fill it
        if self.worker.reserved_concurrency is not None:
            assert self.worker.reserved_concurrency >= sum(self.lane_concurrency.values())
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
        assert sum(len(pattern) for pattern in patterns) <= TARGETS_CHARS_MAX

    def _check_alarms(self) -> None:
        """Of lanes that exist; a hint that waits while its run goes on, or until its time, is no news."""
        alarms = self.alarms
        assert {*alarms.dispatch_lag_ms, *alarms.oldest_hint_s} <= set(LANES)
        for age_s in alarms.oldest_hint_s.values():
            assert age_s > self.worker.timeout_s + QUEUE_DELAY_S_MAX


def arns_among(patterns: Iterable[str]) -> list[str]:
    """Those that name resources; the others name handlers."""
    return [pattern for pattern in patterns if not pattern.startswith(HANDLERS)]


def _fleet(*, cpu: int, memory_mib: int, machines_min: int, machines_max: int, on_demand: int) -> FleetSettings:
    """Two services: what must not wait has certain machines, what may wait has Spot ones.

    Low has some places on the certain ones too: it goes on while there is no Spot. A quarter of a processor carries
    twenty runs that wait most of the time. Hints that wait: a dozen for a machine are a minute of its short runs.
    """
    unit = cpu // 256
    urgent = ServiceSettings(
        places=MappingProxyType({"high": 10 * unit, "normal": 8 * unit, "low": 2 * unit}),
        cpu=cpu,
        memory_mib=memory_mib,
        machines_min=machines_min,
        machines_max=machines_max,
        backlog_per_machine=12 * unit,
    )
    patient = replace(
        urgent,
        places=MappingProxyType({"low": 16 * unit, "backfill": 4 * unit}),
        machines_min=1,
        backlog_per_machine=40 * unit,
        on_demand=on_demand,
    )
    return FleetSettings(services=MappingProxyType({"Urgent": urgent, "Patient": patient}))


# Full CPU comes at 1,769 MiB. The API and the workers get half of it; the loops wait most of the time.
_DEV = Settings(
    stage="dev",
    buckets=16,
    scale="1",
    log_level="DEBUG",
    log_retention_days=14,
    account_concurrency=1_000,
    tables=TableSettings(retained=False, recovery_days=1, read_units_max=4_000, write_units_max=4_000),
    api_gateway=ApiSettings(rate_per_s=100, burst=200, authorizer_cache_s=30),
    scheduler_slots=1,
    lane_concurrency=MappingProxyType({"high": 10, "normal": 10, "low": 5, "backfill": 2}),
    api=FunctionSettings(memory_mib=1_024, timeout_s=28),
    # A claim waits most of the time, in memory that is paid for. Here without a reservation: a new account has none.
    claim=FunctionSettings(memory_mib=512, timeout_s=28),
    claim_seats=5,
    authorizer=FunctionSettings(memory_mib=512, timeout_s=10),
    scheduler=FunctionSettings(memory_mib=512, timeout_s=180),
    # It looks until 20 s before its time limit: a minute.
    watch=FunctionSettings(memory_mib=512, timeout_s=80),
    # The longest attempt on Lambda is 840 s; the rest is for the claim, the completion and what is owed.
    worker=FunctionSettings(memory_mib=1_024, timeout_s=890),
    fleet=_fleet(cpu=256, memory_mib=1_024, machines_min=1, machines_max=2, on_demand=0),
)

_STAGING = replace(
    _DEV,
    stage="staging",
    log_level="INFO",
    log_retention_days=30,
    tables=TableSettings(retained=True, recovery_days=7, read_units_max=10_000, write_units_max=10_000),
    api_gateway=ApiSettings(rate_per_s=500, burst=1_000, authorizer_cache_s=30),
    scheduler_slots=2,
    lane_concurrency=MappingProxyType({"high": 50, "normal": 50, "low": 20, "backfill": 10}),
    claim=replace(_DEV.claim, reserved_concurrency=50),
    claim_seats=10,
    scheduler=replace(_DEV.scheduler, reserved_concurrency=8),
    watch=replace(_DEV.watch, reserved_concurrency=3),
    worker=replace(_DEV.worker, reserved_concurrency=130),
    fleet=_fleet(cpu=512, memory_mib=2_048, machines_min=1, machines_max=10, on_demand=1),
)

_PROD = replace(
    _STAGING,
    stage="prod",
    log_retention_days=90,
    tables=TableSettings(retained=True, recovery_days=35, warm=None),
    api_gateway=ApiSettings(rate_per_s=2_000, burst=2_000, authorizer_cache_s=30),
    scheduler_slots=4,
    lane_concurrency=MappingProxyType({"high": 200, "normal": 200, "low": 80, "backfill": 40}),
    claim=replace(_DEV.claim, reserved_concurrency=150),
    # Ten runs a claim: a herd of 250 finds somebody at once, and six tenants may have all their seats taken.
    claim_seats=25,
    scheduler=replace(_DEV.scheduler, memory_mib=1_024, reserved_concurrency=16),
    worker=replace(_DEV.worker, reserved_concurrency=520),
    # Two certain machines: a zone that fails leaves one at work.
    fleet=_fleet(cpu=1_024, memory_mib=4_096, machines_min=2, machines_max=50, on_demand=1),
)

# For a deploy on an AWS that runs on this machine (docs/deploy.md). It has no Application Auto Scaling, runs functions
# under this machine's interpreter, and starts no container: the image is a name.
_LOCAL = replace(
    _DEV,
    stage="local",
    packaging=Packaging.of_this_machine(),
    fleet=replace(
        _DEV.fleet,
        scales=False,
        flow_logs=False,
        image=ImageSettings(repository="tickwright-worker", digest=f"sha256:{0:064x}"),
    ),
)

STAGES: Mapping[str, Settings] = MappingProxyType({settings.stage: settings for settings in (_DEV, _STAGING, _PROD)})
# Those that `TICKWRIGHT_STAGE` may name.
_NAMED: Mapping[str, Settings] = MappingProxyType({**STAGES, _LOCAL.stage: _LOCAL})


def settings_of(stage: str) -> Settings:
    """The settings of a stage; a name that nobody has defined ends the build with the names that exist."""
    if stage not in _NAMED:
        raise SystemExit(f"There is no stage {stage!r}. Set TICKWRIGHT_STAGE to one of: {', '.join(_NAMED)}.")
    return _NAMED[stage]
