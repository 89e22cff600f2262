"""Refuse every connection that would leave this machine.

Python tells an audit hook about each connect, send and name look-up, whoever asks for it, so no client library can
slip past. The hook cannot be taken off again: a test process stays inside for life.
"""

import ipaddress
import sys
from typing import Any

LOCAL_NAMES = frozenset({"", "localhost"})


class LeavesThisMachineError(RuntimeError):
    """A test tried to reach something other than the loopback addresses."""


def stay_on_this_machine() -> None:
    """Install the hook; from here on a connection to another machine raises."""
    sys.addaudithook(_refuse_the_outside)


def _refuse_the_outside(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if isinstance(address, tuple) and not is_loopback(str(address[0])):
            raise LeavesThisMachineError(f"a test may not talk to {address[0]}")
    elif event == "socket.getaddrinfo" and not is_loopback(_as_text(arguments[0])):
        raise LeavesThisMachineError(f"a test may not look up {arguments[0]}")


def _as_text(host: str | bytes | None) -> str:
    return host.decode() if isinstance(host, bytes) else host or ""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine itself, by name or by address."""
    if host in LOCAL_NAMES or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
