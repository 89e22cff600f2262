"""Where the truth lies: four tables and their sparse indexes.

Must not know who reads or writes them (infra/policy/grants.py does). Keys and access patterns, with their cost:
docs/data-model.md. Tests create their tables from this stack's template, so what is tested is what is deployed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.stage_settings import Settings
from infra.table_settings import Capacity, Provisioned, TableSettings, Units

JOBS, EXECUTIONS, JOURNAL, CONTROL = "Jobs", "Executions", "Journal", "Control"
DUE, TENANT, WAITING, ATTENTION = "due", "tenant", "waiting", "attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table: its logical id, its two keys (both strings), where it says when an item may go, and its indexes."""

    name: str
    keys: tuple[str, str]
    ttl: str | None = None
    # Whether it takes the writes of each tick, and so is worth warming and may be provisioned.
    busy: bool = False
    indexes: tuple["_Index", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """A sparse index: an item without both keys is not in it and costs nothing."""

    name: str
    partition: str
    sort: tuple[str, dynamodb.AttributeType]
    projection: dynamodb.ProjectionType
    attributes: tuple[str, ...] = ()
    busy: bool = False


_TEXT, _NUMBER = dynamodb.AttributeType.STRING, dynamodb.AttributeType.NUMBER

_TABLES = (
    _Table(
        name=JOBS,
        keys=("jobId", "sk"),
        busy=True,
        indexes=(
            # The loop decides from the head's fields: more than the 20 that INCLUDE allows. Definitions, the big items,
            # have neither key and are not in it.
            _Index(
                name=DUE,
                partition="bucket",
                sort=("nextRunAt", _NUMBER),
                projection=dynamodb.ProjectionType.ALL,
                busy=True,
            ),
            # Nothing that an advance writes: so a tick does not touch this index.
            _Index(
                name=TENANT,
                partition="tenantId",
                sort=("listedAs", _TEXT),
                projection=dynamodb.ProjectionType.INCLUDE,
                attributes=("name", "lane", "createdAt"),
            ),
        ),
    ),
    _Table(
        name=EXECUTIONS,
        keys=("jobId", "key"),
        ttl="ttl",
        busy=True,
        indexes=(
            # The loop reads each one again, strongly, before it acts: the keys are enough.
            _Index(
                name=WAITING,
                partition="waitKey",
                sort=("waitAt", _NUMBER),
                projection=dynamodb.ProjectionType.KEYS_ONLY,
            ),
            _Index(
                name=ATTENTION,
                partition="tenantId",
                sort=("failedAt", _NUMBER),
                projection=dynamodb.ProjectionType.INCLUDE,
                attributes=("state", "reason", "lane", "attempt", "leaseEpoch", "scheduledAt"),
            ),
        ),
    ),
    # Pages go when their entries stand elsewhere, never by age.
    _Table(name=JOURNAL, keys=("bucket", "page")),
    _Table(name=CONTROL, keys=("pk", "sk"), ttl="ttl"),
)


# The indexes of each table, by its name.
INDEXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {table.name: tuple(index.name for index in table.indexes) for table in _TABLES}
)


class DataStack(cdk.Stack):
    """The tables; everything else of an installation can be torn down and built again."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id, description="Tickwright: jobs, executions, journal and control")
        self._settings = settings.tables
        self.termination_protection = settings.tables.retained
        self.key = self._key() if self._settings.customer_key or self._settings.customer_key_granted else None
        tables = {table.name: self._table(table) for table in _TABLES}
        self.tables: Mapping[str, dynamodb.TableV2] = tables
        self.jobs = tables[JOBS]
        self.executions = tables[EXECUTIONS]
        self.journal = tables[JOURNAL]
        self.control = tables[CONTROL]
        self.webhook_key = self._webhook_key()

    def _key(self) -> kms.Key:
        """Without it nobody reads a table any more, whatever they may do otherwise: it stays as long as they do."""
        return kms.Key(
            self,
            "Key",
            description="Encrypts the tables of Tickwright",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN if self._settings.retained else cdk.RemovalPolicy.DESTROY,
        )

    def _webhook_key(self) -> secretsmanager.Secret:
        """What every tenant's signing secret follows from: with another one no receiver would know us any more."""
        return secretsmanager.Secret(
            self,
            "WebhookKey",
            description="Makes the secrets that Tickwright signs its requests to tenants with",
            generate_secret_string=secretsmanager.SecretStringGenerator(password_length=64, exclude_punctuation=True),
            removal_policy=cdk.RemovalPolicy.RETAIN if self._settings.retained else cdk.RemovalPolicy.DESTROY,
        )

    def _table(self, table: _Table) -> dynamodb.TableV2:
        settings = self._settings if table.busy else replace(self._settings, warm=None, provisioned=None)
        partition, sort = table.keys
        made = dynamodb.TableV2(
            self,
            table.name,
            table_name=f"{self.stack_name}-{table.name}" if settings.named else None,
            partition_key=dynamodb.Attribute(name=partition, type=_TEXT),
            sort_key=dynamodb.Attribute(name=sort, type=_TEXT),
            time_to_live_attribute=table.ttl,
            global_secondary_indexes=[_index(index, settings) for index in table.indexes],
            billing=_billing(table.name, settings),
            warm_throughput=_warm(settings),
            encryption=dynamodb.TableEncryptionV2.dynamo_owned_key(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True, recovery_period_in_days=settings.recovery_days
            ),
            # Charged only while something is throttled, which is when one needs to know the hot key.
            contributor_insights_specification=dynamodb.ContributorInsightsSpecification(
                enabled=True, mode=dynamodb.ContributorInsightsMode.THROTTLED_KEYS
            ),
            deletion_protection=settings.retained,
            removal_policy=cdk.RemovalPolicy.RETAIN if settings.retained else cdk.RemovalPolicy.DESTROY,
        )
        # A logical id that follows the construct tree would replace the table, and lose it, when the tree is tidied.
        resource = cast("dynamodb.CfnGlobalTable", made.node.default_child)
        resource.override_logical_id(table.name)
        if self.key is not None and settings.customer_key:
            # By the resource: the construct would have to know the region.
            resource.add_property_override("SSESpecification", {"SSEEnabled": True, "SSEType": "KMS"})
            resource.add_property_override("Replicas.0.SSESpecification", {"KMSMasterKeyId": self.key.key_arn})
        return made


def _index(index: _Index, settings: TableSettings) -> dynamodb.GlobalSecondaryIndexPropsV2:
    sort, sort_type = index.sort
    optional: dict[str, Any] = {"non_key_attributes": list(index.attributes)} if index.attributes else {}
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=dynamodb.Attribute(name=index.partition, type=_TEXT),
        sort_key=dynamodb.Attribute(name=sort, type=sort_type),
        projection_type=index.projection,
        warm_throughput=_warm(settings) if index.busy else None,
        **_throughput(index.name, settings),
        **optional,
    )


def _billing(table: str, settings: TableSettings) -> dynamodb.Billing:
    if settings.provisioned is None:
        return dynamodb.Billing.on_demand(**_throughput(table, settings))
    return dynamodb.Billing.provisioned(**_throughput(table, settings))


def _throughput(name: str, settings: TableSettings) -> dict[str, Any]:
    """Of a table or an index: what it may take at most, or between what it is scaled, each by itself."""
    if settings.provisioned is None:
        return {
            "max_read_request_units": settings.read_units_max,
            "max_write_request_units": settings.write_units_max,
        }
    capacity, percent = _capacity(name, settings.provisioned), settings.provisioned.used_percent
    return {"read_capacity": _scaled(capacity.reads, percent), "write_capacity": _scaled(capacity.writes, percent)}


def _capacity(name: str, provisioned: Provisioned) -> Capacity:
    named = {JOBS: provisioned.jobs, DUE: provisioned.due, EXECUTIONS: provisioned.executions}
    return named.get(name, provisioned.seldom)


def _scaled(units: Units, used_percent: int) -> dynamodb.Capacity:
    """CloudFormation takes a table over from on demand with the seed, and refuses to without."""
    return dynamodb.Capacity.autoscaled(
        min_capacity=units.least,
        max_capacity=units.most,
        seed_capacity=units.least,
        target_utilization_percent=used_percent,
    )


def _warm(settings: TableSettings) -> dynamodb.WarmThroughput | None:
    if settings.warm is None:
        return None
    return dynamodb.WarmThroughput(
        read_units_per_second=settings.warm.read_units, write_units_per_second=settings.warm.write_units
    )
