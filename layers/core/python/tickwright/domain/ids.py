"""Which names the product gives to things, and how an execution's id is derived from its job and key.

Must not know how names are stored. An executionId is reversible, so that a scheduler that fails over computes the
same one and the API needs no index to find it (SEM-EXEC-1).
"""

import re
from typing import NamedTuple, NewType

from tickwright.domain.instants import Instant, from_key, to_key

TenantId = NewType("TenantId", str)
JobId = NewType("JobId", str)
ExecutionKey = NewType("ExecutionKey", str)
ExecutionId = NewType("ExecutionId", str)
WorkerId = NewType("WorkerId", str)
Epoch = NewType("Epoch", int)

_JOB_ID = re.compile(r"[a-z2-7]{26}")
_KEY = re.compile(r"\d{8}T\d{9}Z(?:#M#[a-z2-7]{26}|#missed)?")


class ExecutionRef(NamedTuple):
    """Where an execution is stored: its job and its key within the job."""

    job_id: JobId
    key: ExecutionKey

    @property
    def id(self) -> ExecutionId:
        """The public name; `#` is not safe in a URL, so `~` stands for it."""
        return ExecutionId(f"{self.job_id}.{self.key.replace('#', '~')}")


def parse_execution_id(text: str) -> ExecutionRef | None:
    """The ref that an executionId names, or None if the text is not one."""
    job_id, dot, rest = text.partition(".")
    key = rest.replace("~", "#")
    if not dot or "#" in rest or not _JOB_ID.fullmatch(job_id) or not _KEY.fullmatch(key):
        return None
    return ExecutionRef(JobId(job_id), ExecutionKey(key))


def is_job_id(text: str) -> bool:
    """Whether the text has the form of a job id."""
    return _JOB_ID.fullmatch(text) is not None


def tick_key(at: Instant) -> ExecutionKey:
    """The key of the execution of one tick: one key a tick, so one execution a tick."""
    return ExecutionKey(to_key(at))


def manual_key(created_at: Instant, request: str) -> ExecutionKey:
    """The key of a run that somebody asked for. Time comes first, so that a job's executions sort by time."""
    return ExecutionKey(f"{to_key(created_at)}#M#{request}")


def missed_key(first: Instant) -> ExecutionKey:
    """The key of the one row that stands for a range of ticks passed over, named by its first."""
    return ExecutionKey(f"{to_key(first)}#missed")


def is_manual(key: ExecutionKey) -> bool:
    """Whether the key is that of a run that somebody asked for."""
    return "#M#" in key


def time_of(key: ExecutionKey) -> Instant:
    """The instant that a key begins with: the tick, or when a manual run was asked for."""
    return from_key(key.partition("#")[0])
