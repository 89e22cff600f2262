"""Lands submissions that were accepted while the store did not answer: they become jobs, or are set aside."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tickwright.api.call import Api
from tickwright.api.landing import settle_arrival
from tickwright.domain.allowed_targets import allowed_from_json
from tickwright.domain.events import EventName
from tickwright.wiring.aws import kit_from_env
from tickwright.wiring.intake import arrived_of, deletions_from, intake_from_env

_KIT = kit_from_env(os.environ)
_API = Api(kit=_KIT, behind_gateway=True, targets=allowed_from_json(os.environ["TICKWRIGHT_TARGETS"]))
_INTAKE = intake_from_env(os.environ, _KIT)
_DELETION_OF = deletions_from(_KIT)
_RUNNER = asyncio.Runner()
_LOG = logging.getLogger("tickwright.intake")

Record = Mapping[str, Any]


def lambda_handler(event: Mapping[str, Sequence[Record]], _context: object) -> dict[str, list[dict[str, str]]]:
    """Land a batch; the messages that are named come again, the others Lambda deletes."""
    again = _RUNNER.run(_land_all(event["Records"]))
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in again]}


async def _land_all(records: Sequence[Record]) -> list[str]:
    landed = await asyncio.gather(*(_is_done(record) for record in records), return_exceptions=True)
    again = [(record, done) for record, done in zip(records, landed, strict=True) if done is not True]
    for record, done in again:
        if isinstance(done, BaseException):  # not even its time of coming again could be set: it comes all the same
            _KIT.emit(EventName.LOOP_BROKE, fault=type(done).__name__, detail=str(done)[:500])
            _LOG.error("message %s did not land", record["messageId"], exc_info=done)
    return [record["messageId"] for record, _ in again]


async def _is_done(record: Record) -> bool:
    assert _INTAKE is not None, "the environment of this function names the intake"
    arrived = arrived_of(record)
    if arrived is None:
        _KIT.emit(EventName.LOOP_BROKE, fault="NoSubmission", detail=record["messageId"])
        return False
    return await settle_arrival(_API, _INTAKE, arrived, deletion_of=_DELETION_OF)
