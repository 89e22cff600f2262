"""Every query, literally: which index it reads, in which order, and how it finds its range."""

from dataclasses import dataclass

from tickwright.adapters.dynamodb.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query. Without an index it is strongly consistent; an index is always eventual."""

    says: str
    table: Table
    condition: str
    index: str | None = None
    newest_first: bool = False


DUE = Query(
    says="The heads of one bucket and lane that are due, oldest first.",
    table=Table.JOBS,
    index="due",
    condition="#bucket = :bucket AND #nextRunAt <= :until",
)
WAITING = Query(
    says="The executions that wait under one key and whose time has come, oldest first.",
    table=Table.EXECUTIONS,
    index="waiting",
    condition="#waitKey = :waitKey AND #waitAt <= :until",
)
JOBS_OF_TENANT = Query(
    says="A tenant's jobs by name.",
    table=Table.JOBS,
    index="tenant",
    condition="#tenantId = :tenantId",
)
JOBS_OF_TENANT_NAMED = Query(
    says="A tenant's jobs whose name begins so.",
    table=Table.JOBS,
    index="tenant",
    condition="#tenantId = :tenantId AND begins_with(#listedAs, :prefix)",
)
ATTENTION = Query(
    says="A tenant's dead executions of a stretch of time, newest first.",
    table=Table.EXECUTIONS,
    index="attention",
    condition="#tenantId = :tenantId AND #failedAt BETWEEN :since AND :until",
    newest_first=True,
)
ROWS_OF_JOB = Query(
    says="A job's versions, and its head behind them.",
    table=Table.JOBS,
    condition="#jobId = :jobId",
)
EXECUTIONS_OF_JOB = Query(
    says="A job's executions, newest first.",
    table=Table.EXECUTIONS,
    condition="#jobId = :jobId",
    newest_first=True,
)
EXECUTIONS_OF_JOB_SINCE = Query(
    says="A job's executions from a time on, newest first; keys begin with their time.",
    table=Table.EXECUTIONS,
    condition="#jobId = :jobId AND #key >= :since",
    newest_first=True,
)
CALENDARS_OF_TENANT = Query(
    says="A tenant's calendars by name.",
    table=Table.CONTROL,
    condition="#pk = :pk AND begins_with(#sk, :prefix)",
)
POOLS_OF_TENANT = Query(
    says="A tenant's pools by name.",
    table=Table.CONTROL,
    condition="#pk = :pk AND begins_with(#sk, :prefix)",
)
API_KEYS_OF_TENANT = Query(
    says="Which API keys a tenant has, by their hash.",
    table=Table.CONTROL,
    condition="#pk = :pk AND begins_with(#sk, :prefix)",
)
RECORDS_OF_TENANT = Query(
    says="All the records that lie under a tenant.",
    table=Table.CONTROL,
    condition="#pk = :pk",
)
SEATS_OF_TENANT = Query(
    says="A tenant's seats by number.",
    table=Table.CONTROL,
    condition="#pk = :pk AND begins_with(#sk, :prefix)",
)
LOGS_OF_EXECUTION = Query(
    says="The logs of an execution's attempts, newest first.",
    table=Table.CONTROL,
    condition="#pk = :pk",
    newest_first=True,
)
ORDERS = Query(
    says="All orders to redrive.",
    table=Table.CONTROL,
    condition="#pk = :pk",
)
ORDERS_OF_TENANT = Query(
    says="A tenant's orders to redrive.",
    table=Table.CONTROL,
    condition="#pk = :pk AND begins_with(#sk, :prefix)",
)
PAGES = Query(
    says="The pages of a bucket whose check has come, from the start of the partition, so a late page is found.",
    table=Table.JOURNAL,
    condition="#bucket = :bucket AND #page < :bound",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One scan, which reads and pays for all that is there: `sent` says which items come, `shown` what of them."""

    says: str
    table: Table
    sent: str = ""
    shown: str = ""


ALL_JOBS = Scan(says="Heads, and the definitions between them.", table=Table.JOBS)
ALL_EXECUTIONS = Scan(says="Every execution.", table=Table.EXECUTIONS)
ALL_API_KEYS = Scan(says="Every API key.", table=Table.CONTROL, sent="#sk = :key")
ALL_SIGNS = Scan(
    says="What tells that there is or was a tenant; of what it has beside keys no more than that it is there.",
    table=Table.CONTROL,
    sent="#sk = :key OR begins_with(#pk, :tenant)",
    shown="""
        #pk, #sk, #tenantId, #keyHash, #scopes, #label, #createdAt, #expiresAt, #revoked, #madeBy,
        #askedAt, #stillAt, #removesAt, #endedAt
    """,
)
JOBS_KEPT = Scan(says="What is kept of a tenant's jobs.", table=Table.JOBS, sent="#tenantId = :tenantId")
EXECUTIONS_KEPT = Scan(
    says="What is kept of a tenant's executions.", table=Table.EXECUTIONS, sent="#tenantId = :tenantId"
)
