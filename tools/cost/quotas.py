"""Which quotas of AWS stand in the way of 500 million executions a day, or of 100,000 in one second.

Must not know how much anything costs. Names and codes are those of Service Quotas; where no code is given, the quota is
raised by a case with support, or not at all.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """What an account has, and what to ask for."""

    service: str
    name: str
    code: str | None
    default: str
    ask: str
    why: str


QUOTAS = (
    Quota(
        "dynamodb",
        "Table-level write throughput limit",
        "L-AB614373",
        "40,000 a table and index",
        "100,000",
        "500 M a day are 5,800 WU/s on jobs, 11,600 on its due index and 17,400 on executions on average; the top of "
        "an hour is several times that",
    ),
    Quota(
        "dynamodb",
        "Table-level read throughput limit",
        "L-CF0CBE56",
        "40,000",
        "40,000 is enough",
        "reads are a quarter of the writes",
    ),
    Quota(
        "dynamodb",
        "Account-level write throughput limit (Provisioned mode)",
        "L-34F8CCC8",
        "80,000",
        "200,000",
        "only with provisioned capacity: all tables and indexes together",
    ),
    Quota(
        "lambda",
        "Concurrent executions",
        "L-B99A9384",
        "1,000, less in a new account",
        "by the table of Little's law",
        "workers, loops, API and claims share it; a mapping takes 1,000 at most, or 20,000 with pollers of its own",
    ),
    Quota(
        "fargate",
        "Fargate On-Demand vCPU resource count",
        "L-3032A538",
        "a few to 4,000 by account",
        "a quarter of a vCPU for 10 runs at once",
        "and 20 machines a second at most are started",
    ),
    Quota(
        "fargate",
        "Fargate Spot vCPU resource count",
        "L-36FBB829",
        "a few to 4,000 by account",
        "the same for low and backfill",
        "counted apart from the certain ones",
    ),
    Quota(
        "sqs",
        "Messages in flight, a standard queue",
        None,
        "120,000",
        "not raised: more lanes or pools",
        "a hint is in flight while its run goes on: 20.7 s on average at 5,787 a second in one queue",
    ),
    Quota(
        "apigateway",
        "Throttle rate, all APIs of the account and Region",
        "L-8A5B8E43",
        "10,000 a second, 5,000 burst",
        "as the tenants' machines claim and heartbeat",
        "a pool's machine asks every 20 s at least, and heartbeats every 15 s of a run",
    ),
)
