"""Are the logs of an execution's attempts kept each by itself, and read newest first?"""

from dataclasses import replace

import pytest

from tests.support.builders import TICK, a_log, a_ref
from tickwright.domain import limits
from tickwright.domain.ids import Epoch, ExecutionKey, ExecutionRef
from tickwright.domain.stored_logs import SaidBy
from tickwright.ports.store import Store

pytestmark = pytest.mark.sem("SEM-LOG-1")


async def test_a_log_is_read_back_as_it_was_put(store: Store) -> None:
    """The longest there is, with every kind of character that text can have."""
    said = "\x00\t\x1b[31mGröße 世界 🎉\n\u2028\\" + "x" * limits.LOG_BYTES_MAX
    log = a_log(text=said, cut=2**40, generation=3, attempt=7, said_by=SaidBy.REPORT, epoch=Epoch(2**31))

    await store.put_log(log)

    assert list((await store.logs_of(log.ref, limit=10)).items) == [log]


async def test_logs_come_newest_first_and_page_by_page(store: Store) -> None:
    """By epoch, whatever the order in which they were put; what came with the report of one goes beside its own."""
    logs = [a_log(epoch=Epoch(epoch), text=f"attempt {epoch}") for epoch in (1, 2, 9, 10, 100)]
    handed_over = replace(logs[3], said_by=SaidBy.REPORT)
    for log in (logs[2], logs[4], handed_over, logs[0], logs[3], logs[1]):
        await store.put_log(log)

    first = await store.logs_of(logs[0].ref, limit=4)
    rest = await store.logs_of(logs[0].ref, limit=4, after_key=first.next_key)

    assert list(first.items) == [logs[4], logs[3], handed_over, logs[2]]
    assert first.next_key is not None
    assert list(rest.items) == [logs[1], logs[0]]
    assert rest.next_key is None


async def test_a_log_that_is_put_again_is_one_log(store: Store) -> None:
    """A put whose reply was lost is tried again."""
    log = a_log()
    await store.put_log(log)
    newer = replace(log, text="all of it", cut=3)

    await store.put_log(newer)

    assert list((await store.logs_of(log.ref, limit=10)).items) == [newer]


async def test_an_execution_has_its_own_logs_alone(store: Store) -> None:
    """Neither those of the job's next tick, nor of a manual run at the same instant, nor of another job."""
    refs = [a_ref(), a_ref(tick=TICK + 1), a_ref(job=1), ExecutionRef(a_ref().job_id, _manual(a_ref().key))]
    logs = {ref: a_log(ref=ref, text=ref.id) for ref in refs}
    for log in logs.values():
        await store.put_log(log)

    assert {ref: list((await store.logs_of(ref, limit=10)).items) for ref in refs} == {
        ref: [log] for ref, log in logs.items()
    }
    assert list((await store.logs_of(a_ref(job=2), limit=10)).items) == []


def _manual(key: ExecutionKey) -> ExecutionKey:
    return ExecutionKey(f"{key}#M#{'a' * 26}")
