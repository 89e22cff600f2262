"""A gate on the way to a server: open, shut (whoever comes is turned away) or mute (whoever comes hears nothing).

Must not know what passes through it. Threads, since the client is a blocking one.
"""

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit

_BYTES = 65_536


class Way(Enum):
    """How it stands."""

    OPEN = "open"
    SHUT = "shut"
    MUTE = "mute"


@dataclass(slots=True)
class Gate:
    """On a free port of this machine, before `upstream`."""

    upstream: str
    way: Way = Way.OPEN
    turned_away: int = 0
    _server: socket.socket = field(init=False)
    _joined: list[socket.socket] = field(default_factory=list)
    _held: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin to listen."""
        self._server = socket.create_server(("127.0.0.1", 0))
        self._begin(threading.Thread(target=self._accept, daemon=True))

    @property
    def endpoint(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def set(self, way: Way) -> None:
        """Stand so from now on; what is under way is cut off."""
        self.way = way
        for connection in self._joined:  # whoever pumps there closes it
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for connection in self._held:
            connection.close()
        self._joined, self._held = [], []

    def close(self) -> None:
        """Let nobody through any more."""
        self.set(Way.SHUT)
        self._server.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=5)
        self._server.close()

    def _begin(self, thread: threading.Thread) -> None:
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            if self.way is Way.OPEN:
                self._join(near)
                continue
            self.turned_away += 1
            if self.way is Way.SHUT:
                near.close()
            else:
                self._held.append(near)

    def _join(self, near: socket.socket) -> None:
        place = urlsplit(self.upstream)
        assert place.hostname is not None
        assert place.port is not None
        far = socket.create_connection((place.hostname, place.port))
        self._joined += [near, far]
        for one, other in ((near, far), (far, near)):
            self._begin(threading.Thread(target=_pump, args=(one, other), daemon=True))


def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(_BYTES):
            other.sendall(data)
    with contextlib.suppress(OSError):  # the other way ends as well, and closes its own
        other.shutdown(socket.SHUT_RDWR)
    one.close()
