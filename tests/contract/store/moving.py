"""How a case is moved to ids of its own, so that all cases fit into one store.

Must not hold assertions. JOB, ORDER_ID, the bucket of a lease, a name, a request's key and the tenant of a
rotation or a seat are the ids that cases use.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tests.support.builders import JOB, ORDER_ID, a_job_id
from tickwright.domain.ids import ExecutionRef, TenantId
from tickwright.domain.journal import Page
from tickwright.domain.leases import BucketLease, RenewBucket, TakeBucket
from tickwright.domain.pools import Pool
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import Seat
from tickwright.domain.tenants import IdempotencyRecord, NameRecord
from tickwright.domain.webhooks import Rotation

ThingT = TypeVar("ThingT")


def moved(thing: ThingT, number: int) -> ThingT:
    """The same thing about the job, bucket, name or request of this number."""
    result: Any = _moved(thing, number)
    return result  # type: ignore[no-any-return]


def _moved(thing: Any, number: int) -> Any:  # noqa: ANN401 - things of any kind
    match thing:
        case ExecutionRef():
            return ExecutionRef(a_job_id(number), thing.key)
        case str() if thing in {JOB, ORDER_ID}:
            return a_job_id(number)
        case tuple():
            return tuple(_moved(part, number) for part in thing)
        case BucketLease() | TakeBucket() | RenewBucket() | Page():
            return replace(_parts_moved(thing, number), bucket=number)
        case IdempotencyRecord() | NameRecord() | Calendar() | Pool() | Rotation() | Seat():
            return _named(thing, number)
        case _ if is_dataclass(thing) and not isinstance(thing, type):
            return _parts_moved(thing, number)
        case _:
            return thing


def _named(thing: Any, number: int) -> Any:  # noqa: ANN401 - as above
    """What stands under a name of its tenant's, or under its tenant alone."""
    match thing:
        case IdempotencyRecord():
            return replace(thing, key=f"POST {number}", job_id=_moved(thing.job_id, number))
        case Rotation() | Seat():
            return replace(thing, tenant_id=TenantId(f"tenant-{number}"))
        case _:
            return replace(_parts_moved(thing, number), name=f"job-{number}")


def _parts_moved(thing: Any, number: int) -> Any:  # noqa: ANN401 - things of any kind
    return replace(thing, **{f.name: _moved(getattr(thing, f.name), number) for f in fields(thing)})
