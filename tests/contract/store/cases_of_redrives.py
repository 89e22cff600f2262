"""One case for every write of an order to redrive, and of a payload that an execution has of its own.

Must not hold assertions.
"""

from dataclasses import replace

from tests.contract.store.cases import NOW, REF, Case
from tests.support.builders import ORDER_ID, TENANT, TICK, a_ref, an_id
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Reason
from tickwright.domain.ids import Epoch, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.own_payloads import KeepOwnPayload, OwnPayload, PutOwnPayload
from tickwright.domain.redrive_orders import Canary, Letter, Order, OrderId, OrderStatus, PutOrder, Watched

ORDER = Order(
    tenant_id=TENANT,
    order_id=OrderId(ORDER_ID),
    wanted=DeadFilter(),
    rate_per_min=60,
    created_at=TICK,
    next_at=TICK,
    expires_at=Instant(TICK + 10**9),
    write_token=an_id(51),
)
# With everything that an order may hold.
HALFWAY = replace(
    ORDER,
    wanted=DeadFilter(
        job_id=JobId(an_id(3)), fingerprint="0f", error_class="Größe", reason=Reason.POOL_DELETED, since=TICK, until=NOW
    ),
    canary=Canary(first=3, failures_max=1),
    version=7,
    write_token=an_id(52),
    after_key="a place in the list",
    hand=(Letter(ref=a_ref(4), epoch=Epoch(2)), Letter(ref=a_ref(5), epoch=Epoch(1))),
    redriven=2,
    put_off=3,
    refused=4,
    redriven_before=1,
    idle_passes=2,
    watched=(Watched(ref=a_ref(6), generation=2),),
    canary_ended=1,
)
ENDED = replace(
    ORDER, status=OrderStatus.STOPPED, ended_at=NOW, exhausted=True, canary_over=True, canary_died=2, version=8
)
PAYLOAD = OwnPayload(ref=REF, tenant_id=TENANT, payload='{"said":"Grüße"}', expires_at=NOW, secrets=("/payload/said",))

OF_REDRIVES = (
    Case(
        name="give an order",
        change=PutOrder(order=ORDER),
        accepts=None,
        refuses=(replace(ORDER, write_token=an_id(53)), replace(HALFWAY, version=1)),
        again=True,
    ),
    Case(
        name="move an order on",
        change=PutOrder(order=HALFWAY, seen_version=6),
        accepts=replace(HALFWAY, version=6, write_token=an_id(54), hand=()),
        refuses=(replace(ORDER, version=5), replace(ENDED, write_token=an_id(55), version=7)),
        again=True,
    ),
    Case(
        name="end an order",
        change=PutOrder(order=replace(ENDED, write_token=an_id(56)), seen_version=7),
        accepts=HALFWAY,
        refuses=(replace(HALFWAY, version=9),),
        again=True,
    ),
    Case(
        name="keep a payload beside its execution",
        change=PutOwnPayload(payload=PAYLOAD),
        accepts=None,
        refuses=(replace(PAYLOAD, payload="null"),),
        again=True,
    ),
    Case(
        name="keep a payload longer",
        change=KeepOwnPayload(ref=REF, expires_at=Instant(NOW + 86_400_000)),
        accepts=PAYLOAD,
        refuses=(),
        again=True,
    ),
)
