"""Which function makes the request of which change: the whole list, so that a change without one is found by a test."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tickwright.adapters.dynamodb.requests import control, executions, heads, journal, moves, redrives
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.domain.changes.calendars import PutCalendar, PutCalendarVersion
from tickwright.domain.changes.executions import Claim, Fail, Heartbeat, Insert, Reap, StrikeOwed, Succeed
from tickwright.domain.changes.heads import Advance, Occupy, PutDefinition, PutHead, Reopen, Rewrite, StillOpen
from tickwright.domain.changes.moves import Cancel, Discard, Expire, PutOff, ReapStopping, Redrive, Release, Stop
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.journal import PutPage
from tickwright.domain.leases import RenewBucket, TakeBucket
from tickwright.domain.own_payloads import KeepOwnPayload, PutOwnPayload
from tickwright.domain.redrive_orders import PutOrder
from tickwright.domain.seats import PutSeat
from tickwright.domain.tenants import PutIdempotency, PutName
from tickwright.domain.webhooks import PutRotation

CATALOGUE: Final[Mapping[type, Callable[[Any], Request]]] = {
    PutHead: heads.put_head,
    PutDefinition: heads.put_definition,
    Advance: heads.advance,
    Rewrite: heads.rewrite,
    Occupy: heads.occupy,
    StillOpen: heads.still_open,
    Reopen: heads.reopen,
    Insert: executions.insert,
    Claim: executions.claim,
    Heartbeat: executions.heartbeat,
    Succeed: executions.succeed,
    Fail: executions.fail,
    Reap: executions.reap,
    StrikeOwed: executions.strike_owed,
    Stop: moves.stop,
    ReapStopping: moves.reap_stopping,
    PutOff: moves.put_off,
    Cancel: moves.cancel,
    Release: moves.release,
    Expire: moves.expire,
    Redrive: moves.redrive,
    Discard: moves.discard,
    PutPage: journal.put_page,
    TakeBucket: control.take_bucket,
    RenewBucket: control.renew_bucket,
    PutIdempotency: control.put_idempotency,
    PutName: control.put_name,
    PutRotation: control.put_rotation,
    PutOrder: redrives.put_order,
    PutOwnPayload: redrives.put_own_payload,
    KeepOwnPayload: redrives.keep_own_payload,
    PutPool: control.put_pool,
    PutSeat: control.put_seat,
    PutCalendar: control.put_calendar,
    PutCalendarVersion: control.put_calendar_version,
}


def request_of(change: object) -> Request:
    """The request of a change."""
    return CATALOGUE[type(change)](change)
