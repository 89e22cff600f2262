"""What a command of the operator is: its two words, what it takes, and what it does with an installation.

Must not know which commands there are (`__main__.py` has the table) nor how an installation is found.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tickwright.wiring.operator import Installed


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command. `does` prints what it has to say and gives the exit status.

    `misfit` says what of the arguments does not go together, before anything is asked of an installation.
    """

    words: tuple[str, str]
    says: str
    arguments: Callable[[ArgumentParser], None]
    does: Callable[[Installed, Namespace], Awaitable[int]]
    misfit: Callable[[Namespace], str | None] = lambda _: None
