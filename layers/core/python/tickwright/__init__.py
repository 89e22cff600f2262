"""Tickwright: a multi-tenant job scheduler that fires each tick on time, once, and can say why."""

__version__ = "0.1.0"
