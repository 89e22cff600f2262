"""What an installation on AWS is told by its environment: names of tables and queues, and a few numbers.

infra/environment.py writes exactly these; a test holds the two equal. A missing variable ends the start, not a request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.allowed_targets import AllowedTargets, allowed_from_json
from tickwright.domain.lanes import LANES, Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One installation."""

    stage: str
    buckets: int
    buckets_served: int  # how many the loops look at, where that is more: it is raised before the other
    epoch_base: int  # where the epochs of this installation begin: raised with each recovery (docs/recovery.md)
    scale: float
    jobs_table: str
    executions_table: str
    journal_table: str
    control_table: str
    queue_urls: Mapping[Lane, str]
    fleet_queue_urls: Mapping[Lane, str]
    dead_queue_url: str
    pool_queues: str  # what the names of tenants' pools' queues begin with
    pool_undelivered_arn: str
    # Only of those who read jobs or run them: the others can neither sign nor call what a tenant names.
    targets: AllowedTargets = AllowedTargets()  # noqa: RUF009 - frozen
    webhook_key: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        """Hold the bounds of the protocol."""
        assert 1 <= self.buckets <= limits.BUCKETS_MAX
        assert 0 <= self.buckets_served <= limits.BUCKETS_MAX
        assert 0 <= self.epoch_base <= limits.EPOCH_BASE_MAX
        assert 0 < self.scale <= 1


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read them; KeyError names the one that is missing."""
    return Settings(
        stage=environ["TICKWRIGHT_STAGE"],
        buckets=int(environ["TICKWRIGHT_BUCKETS"]),
        buckets_served=int(environ["TICKWRIGHT_BUCKETS_SERVED"]),
        epoch_base=int(environ["TICKWRIGHT_EPOCH_BASE"]),
        scale=float(environ["TICKWRIGHT_SCALE"]),
        jobs_table=environ["TICKWRIGHT_JOBS_TABLE"],
        executions_table=environ["TICKWRIGHT_EXECUTIONS_TABLE"],
        journal_table=environ["TICKWRIGHT_JOURNAL_TABLE"],
        control_table=environ["TICKWRIGHT_CONTROL_TABLE"],
        queue_urls={lane: environ[f"TICKWRIGHT_QUEUE_{lane.name}"] for lane in LANES},
        fleet_queue_urls={lane: environ[f"TICKWRIGHT_QUEUE_FARGATE_{lane.name}"] for lane in LANES},
        dead_queue_url=environ["TICKWRIGHT_QUEUE_DEAD"],
        pool_queues=environ["TICKWRIGHT_POOL_QUEUES"],
        pool_undelivered_arn=environ["TICKWRIGHT_POOL_DLQ"],
        targets=allowed_from_json(environ.get("TICKWRIGHT_TARGETS", "")),
        webhook_key=environ.get("TICKWRIGHT_WEBHOOK_KEY", "").encode(),
    )
