"""What differs between the stages of an installation: the one file to edit for one's own.

Must not know CDK. What can be said is in infra/stage_settings.py and the files it names; every number has its reason
beside it. A function's environment is written from here (infra/environment.py), so a variable cannot be misspelt.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from infra.alarm_settings import AlarmSettings
from infra.door_settings import ApiSettings
from infra.fleet_settings import FleetSettings, ImageSettings, ServiceSettings
from infra.function_settings import FunctionSettings
from infra.lane_settings import LANES
from infra.packaging_settings import Packaging
from infra.required import SettingRefused
from infra.stage_settings import Settings
from infra.table_settings import TableSettings

__all__ = ["LANES", "STAGES", "Settings", "settings_of"]


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


def _small_fleet() -> FleetSettings:
    """One service on Spot for all lanes, as a machine costs as much as all else of an idle installation's loops."""
    shared = ServiceSettings(
        places=MappingProxyType({"high": 6, "normal": 6, "low": 5, "backfill": 3}),
        cpu=256,
        memory_mib=1_024,
        machines_min=1,
        machines_max=2,
        # A second machine is started when places are taken; to look at what waits for each lane costs a dollar a month.
        backlog_per_machine=None,
        on_demand=0,
    )
    return FleetSettings(services=MappingProxyType({"Shared": shared}))


# Full CPU comes at 1,769 MiB. The API and the workers get half of it; the loops wait most of the time.
_DEV = Settings(
    stage="dev",
    # Each costs by the hour (docs/capacity.md); four carry 800 jobs a second.
    buckets=4,
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
    # It holds 100 MiB, and is awake all the time: each 256 MiB are $9 a month.
    scheduler=FunctionSettings(memory_mib=256, timeout_s=180),
    # It looks until 20 s before its time limit: a minute.
    watch=FunctionSettings(memory_mib=512, timeout_s=80),
    # The longest attempt on Lambda is 840 s; the rest is for the claim, the completion and what is owed.
    worker=FunctionSettings(memory_mib=1_024, timeout_s=890),
    # A third of what alarms of their own for everything cost; nobody is called for it at night.
    alarms=AlarmSettings(coarse=True),
    fleet=_small_fleet(),
)

# What dev's numbers have beside them holds for those below too; each entry is whole, so that none changes another.
_STAGING = Settings(
    stage="staging",
    buckets=16,
    scale="1",
    log_level="INFO",
    log_retention_days=30,
    account_concurrency=1_000,
    tables=TableSettings(retained=True, recovery_days=7, read_units_max=10_000, write_units_max=10_000),
    api_gateway=ApiSettings(rate_per_s=500, burst=1_000, authorizer_cache_s=30),
    scheduler_slots=2,
    lane_concurrency=MappingProxyType({"high": 50, "normal": 50, "low": 20, "backfill": 10}),
    api=FunctionSettings(memory_mib=1_024, timeout_s=28),
    claim=FunctionSettings(memory_mib=512, timeout_s=28, reserved_concurrency=50),
    claim_seats=10,
    authorizer=FunctionSettings(memory_mib=512, timeout_s=10),
    scheduler=FunctionSettings(memory_mib=512, timeout_s=180, reserved_concurrency=8),
    watch=FunctionSettings(memory_mib=512, timeout_s=80, reserved_concurrency=3),
    worker=FunctionSettings(memory_mib=1_024, timeout_s=890, reserved_concurrency=130),
    alarms=AlarmSettings(),
    fleet=_fleet(cpu=512, memory_mib=2_048, machines_min=1, machines_max=10, on_demand=1),
)

_PROD = Settings(
    stage="prod",
    buckets=16,
    scale="1",
    log_level="INFO",
    log_retention_days=90,
    account_concurrency=1_000,
    tables=TableSettings(retained=True, recovery_days=35, warm=None),
    api_gateway=ApiSettings(rate_per_s=2_000, burst=2_000, authorizer_cache_s=30),
    scheduler_slots=4,
    lane_concurrency=MappingProxyType({"high": 200, "normal": 200, "low": 80, "backfill": 40}),
    api=FunctionSettings(memory_mib=1_024, timeout_s=28),
    claim=FunctionSettings(memory_mib=512, timeout_s=28, reserved_concurrency=150),
    # Ten runs a claim: a herd of 250 finds somebody at once, and six tenants may have all their seats taken.
    claim_seats=25,
    authorizer=FunctionSettings(memory_mib=512, timeout_s=10),
    scheduler=FunctionSettings(memory_mib=1_024, timeout_s=180, reserved_concurrency=16),
    watch=FunctionSettings(memory_mib=512, timeout_s=80, reserved_concurrency=3),
    worker=FunctionSettings(memory_mib=1_024, timeout_s=890, reserved_concurrency=520),
    # Two certain machines: a zone that fails leaves one at work.
    fleet=_fleet(cpu=1_024, memory_mib=4_096, machines_min=2, machines_max=50, on_demand=1),
)

# Dev on an AWS that runs on this machine (docs/deploy.md). That has no Application Auto Scaling and no alarms on
# expressions (coarse ones need none), runs functions under this machine's interpreter, and starts no container: the
# image is a name.
_LOCAL = replace(
    _DEV,
    stage="local",
    tables=replace(_DEV.tables, named=True),
    packaging=Packaging.of_this_machine(),
    fleet=replace(
        _fleet(cpu=256, memory_mib=1_024, machines_min=1, machines_max=2, on_demand=0),
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
        raise SettingRefused(f"There is no stage {stage!r}. Set TICKWRIGHT_STAGE to one of: {', '.join(_NAMED)}.")
    return _NAMED[stage]
