"""How a program is told to stop, by SIGTERM or SIGINT: and when a second signal means that it is to wait for no grace.

A terminal and `timeout` signal a program and its group, so that one wish may come as two signals. Must not know what
stops. Promise: SEM-SDK-9.
"""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass

ONE_WISH_S = 0.5  # signals so soon after the first are the same wish


@dataclass(slots=True)
class Wishes:
    """What the signals of one program say: the first to stop, one that comes later to hurry."""

    stop: Callable[[], object]
    hurry: Callable[[], object]
    first_s: float | None = None

    def heard(self, at_s: float) -> None:
        """A signal has come."""
        if self.first_s is None:
            self.first_s = at_s
            self.stop()
        elif at_s - self.first_s >= ONE_WISH_S:
            self.hurry()


def heed_signals(stop: Callable[[], object], hurry: Callable[[], object]) -> None:
    """From now on, on the loop that runs."""
    loop, wishes = asyncio.get_running_loop(), Wishes(stop, hurry)
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, lambda: wishes.heard(loop.time()))
