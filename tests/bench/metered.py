"""An installation on local engines whose every unit and request is counted: what the benchmarks of cost stand on.

Tables on DynamoDB Local, queues on ministack, both as the synthesised templates have them.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.support.emulators.engines import start_dynamodb_local, start_ministack
from tests.support.installation import Installation, in_environment, install
from tickwright.adapters.aws.clients import dynamodb_client, sqs_client
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.dynamodb.engine import Options
from tickwright.adapters.dynamodb.meter import CapacityMeter
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import TableNames
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.sqs.meter import RequestMeter
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.lanes import LANES
from tickwright.domain.limits import STANDARD, Durations
from tickwright.services.kit import Kit

_PREFIX = "bench-"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@dataclass(frozen=True, slots=True)
class Metered:
    """A kit and what it costs."""

    kit: Kit
    capacity: CapacityMeter
    requests: RequestMeter

    def by_table(self) -> dict[str, dict[str, float]]:
        """Units by table and operation."""
        found: dict[str, dict[str, float]] = {}
        for (table, operation), units in sorted(self.capacity.units.items()):
            found.setdefault(table.removeprefix(_PREFIX), {})[operation] = units
        return found


@contextmanager
def installation() -> Iterator[Installation]:
    """A fresh one, for as long as it is measured."""
    with ExitStack() as stack:
        store, queue = start_dynamodb_local(), start_ministack()
        stack.callback(store.stop)
        stack.callback(queue.stop)
        made = install(store.endpoint, queue.endpoint, _PREFIX)
        stack.enter_context(in_environment({**made.environment, **CREDENTIALS}))
        yield made


def metered(made: Installation, *, durations: Durations = STANDARD, buckets: int = 16) -> Metered:
    """A kit of this installation with meters of its own."""
    capacity, requests = CapacityMeter(), RequestMeter()
    clock, entropy = SystemClock(), SystemEntropy()
    urls = QueueUrls(
        ready={lane: made.queues[lane.value] for lane in LANES},
        fleet={lane: made.queues[f"fargate-{lane.value}"] for lane in LANES},
        dead=made.queues["dead"],
    )
    kit = Kit(
        store=DynamoDbStore(
            dynamodb_client(),
            TableNames(**made.tables),
            clock=clock,
            entropy=entropy,
            # A statement of a batch is charged as the single write that it is; the engine reports only the latter.
            options=Options(meter=capacity, partiql=False),
        ),
        queue=SqsQueue(sqs_client(), urls, clock=clock, entropy=entropy, meter=requests),
        clock=clock,
        entropy=entropy,
        telemetry=MemoryTelemetry(),
        durations=durations,
        buckets=buckets,
    )
    return Metered(kit, capacity, requests)
