"""A stage with every option on, that nobody has: what is off by default is judged and recorded too.

Must not know what an option does.
"""

from dataclasses import replace
from types import MappingProxyType

from infra.alarm_settings import AlarmSettings
from infra.door_settings import DomainSettings, WafSettings
from infra.function_settings import ReleaseSettings
from infra.lane_settings import Pollers
from infra.settings import STAGES
from infra.table_settings import Capacity, Provisioned, Units, WarmThroughput

_PROD = STAGES["prod"]
_ACCOUNT = "eu-central-1:123456789012"

_BUSY = Capacity(reads=Units(least=500, most=40_000), writes=Units(least=1_000, most=20_000))
_PROVISIONED = Provisioned(
    jobs=_BUSY,
    due=_BUSY,
    executions=_BUSY,
    seldom=Capacity(reads=Units(least=50, most=40_000), writes=Units(least=100, most=20_000)),
)

# Lanes that must not wait have pollers of their own, of 200 invocations each: together what the worker has reserved.
EVERYTHING = replace(
    _PROD,
    stage="everything",
    tables=replace(
        _PROD.tables,
        customer_key=True,
        warm=WarmThroughput(read_units=40_000, write_units=20_000),
        provisioned=_PROVISIONED,
    ),
    api_gateway=replace(
        _PROD.api_gateway,
        domain=DomainSettings(
            name="jobs.example.com",
            certificate_arn=f"arn:aws:acm:{_ACCOUNT}:certificate/01234567-89ab-cdef-0123-456789abcdef",
            zone_id="Z0123456789ABCDEFGHIJ",
            zone_name="example.com",
        ),
        waf=WafSettings(requests_of_an_address=10_000),
    ),
    lane_concurrency=MappingProxyType({"low": 80, "backfill": 40}),
    lane_pollers=MappingProxyType({"high": Pollers(least=4, most=20), "normal": Pollers(least=2, most=20)}),
    intake=True,
    status_cache="rediss://cache.example.com:6379",
    release=ReleaseSettings(aliased=True, snap_start=True, canary=True),
    alarms=AlarmSettings(
        topic_arn=f"arn:aws:sns:{_ACCOUNT}:on-call", runbook="https://wiki.example.com/tickwright/operations"
    ),
)
