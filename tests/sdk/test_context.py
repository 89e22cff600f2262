"""Does a handler learn and say, through its context, what it is promised, without being held up?"""

import asyncio
import logging
import threading
from datetime import UTC, datetime

import pytest

from tests.sdk.links import Noting, a_context
from tickwright_sdk import Context, Fatal, RetryLater
from tickwright_sdk.engine_link import EngineLink, Note
from tickwright_sdk.results import NotKept


@pytest.mark.sem("SEM-SDK-1")
def test_a_heartbeat_notes_what_it_is_given_and_tells_whether_to_stop() -> None:
    """It waits for nothing: what is noted goes with the lease."""
    link = Noting()
    context = a_context(link)

    assert context.heartbeat(progress=0.5, checkpoint={"row": 7}) is False
    assert context.heartbeat() is False
    link.stop("lease_lost")
    assert context.heartbeat(checkpoint=8) is True
    assert context.cancelled
    assert context.cancel_reason == "lease_lost"
    assert link.notes == [(0.5, '{"row":7}'), (None, "8")]


@pytest.mark.parametrize("progress", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_progress_that_is_no_share_is_refused_where_it_is_said(progress: float) -> None:
    """The mistake shows in the handler, not as a refused heartbeat somewhere else."""
    with pytest.raises(ValueError, match="0 to 1"):
        a_context().heartbeat(progress=progress)


@pytest.mark.parametrize("checkpoint", ["x" * 4_095, {1, 2}, float("nan")])
def test_a_checkpoint_that_cannot_be_kept_is_refused_where_it_is_said(checkpoint: object) -> None:
    """4 KB of strict JSON."""
    with pytest.raises(NotKept, match="the checkpoint "):
        a_context().heartbeat(checkpoint=checkpoint)


def test_what_is_made_to_be_raised_is_of_the_closed_set() -> None:
    """`raise ctx.fatal(...)` and `raise ctx.retry_after(...)` need no import."""
    context = a_context()

    assert isinstance(context.fatal("closed"), Fatal)
    later = context.retry_after(90, "the bank is closed")
    assert isinstance(later, RetryLater)
    assert (later.after_s, str(later)) == (90, "the bank is closed")


def test_what_stops_with_work_left_is_tried_again_at_once() -> None:
    """What it returned would be a success."""
    link = Noting()
    link.stop("draining")

    told = a_context(link).stopped()

    assert (told.after_s, str(told)) == (0, "stopped with work left: draining")


def test_a_sleep_ends_when_it_is_to_stop() -> None:
    """A plain handler that waits for an hour lets go at once."""
    link = Noting()
    threading.Timer(0.05, link.stop, ["cancelled"]).start()

    assert a_context(link).sleep(3_600) is True
    assert a_context().sleep(0.001) is False


async def test_an_async_sleep_ends_when_it_is_to_stop() -> None:
    """The same for an async handler, whose plain sleep is refused: it would hold up all others."""
    link = Noting()
    threading.Timer(0.05, link.stop, ["cancelled"]).start()

    assert await a_context(link).sleep_async(3_600) is True
    assert await a_context().sleep_async(0.001) is False
    with pytest.raises(RuntimeError, match="sleep_async"):
        a_context().sleep(0.001)


def test_the_log_of_a_handler_is_kept_and_goes_where_the_workers_own_goes(caplog: pytest.LogCaptureFixture) -> None:
    """An ordinary logger: its lines are kept whatever level the worker's own log shows."""
    link = Noting()
    context = a_context(link)
    context.log.info("row %s of %s", 7, 9)
    context.log.debug("not said")
    with caplog.at_level(logging.INFO):
        context.log.warning("slow")

    assert [line.split(" ", 1)[1] for line in link.lines] == ["INFO row 7 of 9", "WARNING slow"]
    assert datetime.fromisoformat(link.lines[0].split(" ")[0]).tzinfo is UTC
    assert "slow" in caplog.text


def test_a_context_goes_through_json_and_back() -> None:
    """A child is told the same as a thread."""
    link = Noting()
    context = a_context(link, checkpoint={"row": 7}, job_name="nightly", tenant_id="acme", traceparent="00-1")

    assert Context.of(context.told(), link) == context
    assert context.idempotency_key == context.execution_id


@pytest.mark.sem("SEM-SDK-3")
async def test_what_is_noted_in_a_second_is_one_write_and_the_last_wins() -> None:
    """A loop that reports each row costs no write a row; what is unsent at the end is sent then."""
    sent: list[Note] = []

    async def beat(note: Note) -> bool:
        sent.append(note)
        return True

    link = EngineLink(beat, print, interval_s=60)
    for row in range(1_000):
        await asyncio.to_thread(link.note, row / 1_000, None) if row % 500 == 0 else link.note(None, str(row))
    await link.finish()

    assert sent[0].checkpoint is None or int(sent[0].checkpoint) < 999
    assert sent[-1].checkpoint == "999"
    assert len(sent) == 2


@pytest.mark.sem("SEM-SDK-3")
async def test_a_note_that_is_refused_tells_the_handler_to_stop() -> None:
    """Whoever has lost the lease learns it with the next thing it notes."""

    async def beat(_note: Note) -> bool:
        return False

    told = asyncio.Event()
    link = EngineLink(beat, print)
    link.when_stopped(told.set)
    link.note(0.5, None)
    await asyncio.wait_for(told.wait(), 5)

    assert link.reason == "lease_lost"
