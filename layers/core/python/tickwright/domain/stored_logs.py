"""What an attempt has said, as it is kept: the end of it, under the execution and the epoch of its lease.

Must not know a store, nor how the text was gathered (logs.py) or what was masked in it (secrets.py). Promise:
SEM-LOG-1.
"""

from dataclasses import dataclass
from enum import Enum

from tickwright.domain.ids import Epoch, ExecutionRef
from tickwright.domain.instants import Instant


class SaidBy(Enum):
    """Who gathered a log: our worker while the attempt ran, or whoever reported the attempt's end with it.

    An attempt that was handed over has one of each.
    """

    WORKER = "worker"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLog:
    """The log of one attempt. Nobody but the holder of its epoch has written it, so it is put without a condition.

    `cut`: how many bytes before the text were not kept. An attempt that was given back and its successor have one
    number, and two epochs.
    """

    ref: ExecutionRef
    epoch: Epoch
    said_by: SaidBy
    generation: int
    attempt: int
    text: str
    cut: int
    written_at: Instant
    expires_at: Instant

    def __post_init__(self) -> None:
        """A log that says nothing is not kept."""
        assert self.text
        assert self.cut >= 0
        assert self.expires_at > self.written_at

    @property
    def place(self) -> str:
        """What tells it from the others of its execution; places sort as the attempts began.

        An epoch grows by one each claim, and ten digits of it last for ever.
        """
        return f"{self.epoch:010d}#{self.said_by.value}"
