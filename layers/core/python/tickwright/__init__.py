"""Tickwright: a multi-tenant job scheduler that fires each tick on time, once, and can say why."""

from tickwright.ready_made import use_ready_made

use_ready_made()  # before any module of this package makes a dataclass

__version__ = "0.1.0"
