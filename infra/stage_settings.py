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
    LOOPS_PER_SLOT,
    SCHEDULER_TIMEOUT_S_MIN,
    UNRESERVED_MIN,
    FunctionSettings,
    ReleaseSettings,
)
from infra.lane_settings import LANES, Pollers, concurrency_of
from infra.packaging_settings import LAMBDA, Packaging
from infra.required import require
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
# As Lambda names them, and how long CloudWatch may keep what was said.
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
LOG_RETENTION_DAYS = (7, 14, 30, 60, 90, 180, 365)
# How a pattern begins that names handlers and no resource.
HANDLERS = "python:"
_SCALE = re.compile(r"\d{1,3}(\.\d{1,9})?")


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
        allowed = "a small letter, and up to 15 small letters and digits after it"
        require(bool(STAGE.fullmatch(self.stage)), "Settings.stage", self.stage, allowed)
        self._check_shape()
        self._check_times()
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

    def _require(self, holds: bool, field: str, value: object, allowed: str) -> None:  # noqa: FBT001 - as `require`
        require(holds, f"{self.stage}.{field}", value, allowed)

    def _check_shape(self) -> None:
        """How many there are of what all stand on, and what AWS has a list of."""
        buckets, slots, served = self.buckets, self.scheduler_slots, self.buckets_served
        self._require(1 <= buckets <= BUCKETS_MAX, "buckets", buckets, f"from 1 to {BUCKETS_MAX}")
        allowed = f"0, or from buckets, which is {buckets}, to {BUCKETS_MAX}"
        self._require(served == 0 or buckets <= served <= BUCKETS_MAX, "buckets_served", served, allowed)
        self._require(1 <= slots <= buckets, "scheduler_slots", slots, f"from 1 to buckets, which is {buckets}")
        allowed = f"from 0 to {EPOCH_BASE_MAX}"
        self._require(0 <= self.epoch_base <= EPOCH_BASE_MAX, "epoch_base", self.epoch_base, allowed)
        self._require(self.log_level in LOG_LEVELS, "log_level", self.log_level, f"one of {', '.join(LOG_LEVELS)}")
        allowed = f"one of {', '.join(map(str, LOG_RETENTION_DAYS))}"
        self._require(
            self.log_retention_days in LOG_RETENTION_DAYS, "log_retention_days", self.log_retention_days, allowed
        )
        allowed = f"1 to {CLAIM_SEATS_MAX}"
        self._require(1 <= self.claim_seats <= CLAIM_SEATS_MAX, "claim_seats", self.claim_seats, allowed)
        # Over the open network.
        encrypted = self.status_cache.partition("://")[0] in {"", "rediss", "valkeys"}
        self._require(
            encrypted, "status_cache", self.status_cache, "rediss://HOST:PORT, or empty: unencrypted is refused"
        )
        chars, allowed = len(self.status_cache), f"{STATUS_CACHE_CHARS_MAX} characters at most"
        self._require(chars <= STATUS_CACHE_CHARS_MAX, "status_cache", self.status_cache, allowed)
        served_lanes, allowed = sorted(self.fleet.lanes), f"some service has places for each of {', '.join(LANES)}"
        self._require(set(served_lanes) == set(LANES), "fleet.services", served_lanes, allowed)

    def _check_times(self) -> None:
        """How long things take, beside what waits for them."""
        allowed = "a text of a number above 0 and up to 1"
        self._require(bool(_SCALE.fullmatch(self.scale)) and 0 < float(self.scale) <= 1, "scale", self.scale, allowed)
        allowed = f"up to {API_TIMEOUT_S_MAX}: the gateway waits no longer"
        self._require(self.api.timeout_s <= API_TIMEOUT_S_MAX, "api.timeout_s", self.api.timeout_s, allowed)
        claim_s, allowed = self.claim.timeout_s, f"from {CLAIM_WAIT_S_MAX + 1} to {API_TIMEOUT_S_MAX}"
        self._require(CLAIM_WAIT_S_MAX < claim_s <= API_TIMEOUT_S_MAX, "claim.timeout_s", claim_s, allowed)
        loop_s, allowed = self.scheduler.timeout_s, f"{SCHEDULER_TIMEOUT_S_MIN} or more: the next loop may come so late"
        self._require(loop_s >= SCHEDULER_TIMEOUT_S_MIN, "scheduler.timeout_s", loop_s, allowed)

    def _check_reservations(self) -> None:
        """A reservation below what the lanes or slots may ask for turns into throttles that burn receive counts."""
        lanes = concurrency_of(self.lane_concurrency, self.lane_pollers)
        account = self.account_concurrency
        self._require(lanes <= account, "account_concurrency", account, f"the lanes ask for {lanes}: no less")
        reserved = [f.reserved_concurrency for f in self.functions.values() if f.reserved_concurrency is not None]
        allowed = f"reservations take {sum(reserved)}, and {UNRESERVED_MIN} stay free: no less than both"
        self._require(
            sum(reserved) + UNRESERVED_MIN <= account or not reserved, "account_concurrency", account, allowed
        )
        # No tenant's idle machines fill the claims.
        seats = 2 * self.claim_seats
        self._reserve(
            self.claim, "claim", seats, f"a tenant may keep {self.claim_seats} waiting, and another has as many"
        )
        self._reserve(self.worker, "worker", lanes, f"the lanes ask for {lanes}")
        loops = LOOPS_PER_SLOT * self.scheduler_slots
        self._reserve(self.scheduler, "scheduler", loops, f"{self.scheduler_slots} slots take {LOOPS_PER_SLOT} each")

    def _reserve(self, function: FunctionSettings, name: str, least: int, why: str) -> None:
        reserved = function.reserved_concurrency
        allowed = f"{why}: {least} or more, or None"
        self._require(reserved is None or reserved >= least, f"{name}.reserved_concurrency", reserved, allowed)

    def _check_targets(self) -> None:
        """A pattern may leave the end of a name open; service, region and account are always said."""
        for tenant, named in self.targets.items():
            self._require(isinstance(named, tuple), f"targets[{tenant!r}]", named, "patterns in a tuple: ('arn:...',)")
        patterns = [pattern for patterns in self.targets.values() for pattern in patterns]
        for arn in arns_among(patterns):
            allowed = "arn:aws:SERVICE:REGION:ACCOUNT:RESOURCE, with * within the resource alone and not first"
            self._require(_names_a_place(arn), "targets", arn, allowed)
        for arn in self.target_roles:
            allowed = "arn:aws:iam::ACCOUNT:role/NAME"
            self._require(_names_a_place(arn) and ":iam::" in arn, "target_roles", arn, allowed)
        # As the environment's own JSON has it: with tenants' names, and each quotation mark twice.
        chars, room = len(json.dumps(self.targets_text)), ENVIRONMENT_ROOM - LOG_GROUP_CHARS * len(self.fleet.services)
        allowed = f"{room} at most with {len(self.fleet.services)} services: a function's environment has no more room"
        self._require(chars <= room, "targets", f"{chars} characters", allowed)

    def _check_alarms(self) -> None:
        """Of lanes that exist; a hint that waits while its run goes on, or until its time, is no news."""
        alarms = self.alarms
        for name in ("dispatch_lag_ms", "oldest_hint_s"):
            lanes = sorted(getattr(alarms, name))
            self._require(set(lanes) <= set(LANES), f"alarms.{name}", lanes, f"lanes among {', '.join(LANES)}")
        served = sorted(alarms.run_waits_s)
        allowed = f"all of {', '.join(LANES)}: nothing else tells of a lane that nobody serves"
        self._require(set(served) == set(LANES), "alarms.run_waits_s", served, allowed)
        for lane, age_s in alarms.oldest_hint_s.items():
            least = self.worker.timeout_s + QUEUE_DELAY_S_MAX + 1
            allowed = f"{least} or more: a hint gets so old while its run goes on"
            self._require(age_s >= least, f"alarms.oldest_hint_s[{lane!r}]", age_s, allowed)


def _names_a_place(arn: str) -> bool:
    *place, resource = arn.split(":", ARN_COLONS)
    open_place = any("*" in part or "?" in part for part in place)
    return arn.startswith("arn:aws") and len(place) == ARN_COLONS and not open_place and not resource.startswith("*")


def arns_among(patterns: Iterable[str]) -> list[str]:
    """Those that name resources; the others name handlers."""
    return [pattern for pattern in patterns if not pattern.startswith(HANDLERS)]
