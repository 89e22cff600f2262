"""How a target's host is reached: by public addresses only, looked up once, and let go of at once when asked.

Must not know HTTP. A tenant may name any host, and a name may point anywhere, also at this network's own services: so
the address that was checked is the address that is connected to, whatever the name says a moment later. Promise:
SEM-TARGET-2.
"""

import contextlib
import ipaddress
import socket
import threading
from typing import Any

Address = tuple[Any, ...] | str | bytes
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_V4_BITS = 0xFFFF_FFFF


class AddressRefused(Exception):  # noqa: N818 - named as what happened
    """The host has an address that is not public."""


class Door:
    """One connection to be: opened in a thread, closed from any."""

    def __init__(self, *, allow_private: bool) -> None:
        """Allow every address only on one machine and in tests."""
        self._allow_private = allow_private
        self._guard = threading.Lock()
        # A second descriptor of the same connection: TLS takes the first one away from whoever opened it.
        self._grip: socket.socket | None = None
        self._shut = False
        self._was_open = False

    def connect(self, host: str, port: int, timeout_s: float) -> socket.socket:
        """Connect to the first address that answers. Raises AddressRefused, or OSError."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError:
            raise OSError(f"{host} is no host name") from None
        if not self._allow_private:
            refused = [address for *_, address in found if not is_public(str(address[0]))]
            if refused:
                raise AddressRefused(f"{host} has the address {refused[0][0]}, which is not public")
        fault: OSError = OSError(f"{host} has no address")
        for family, kind, protocol, _, address in found:
            try:
                return self._connected(socket.socket(family, kind, protocol), address, timeout_s)
            except OSError as this:
                fault = this
        raise fault

    def shut(self) -> bool:
        """Let go: whoever waits on the connection is woken by an error. Whether anything may have gone through."""
        with self._guard:
            self._shut = True
            if self._grip is not None:
                with contextlib.suppress(OSError):
                    self._grip.shutdown(socket.SHUT_RDWR)
            self._let_go()
            return self._was_open

    def _connected(self, new: socket.socket, address: Address, timeout_s: float) -> socket.socket:
        try:
            self._hold(new)
            new.settimeout(timeout_s)
            new.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            new.connect(address)
            self._open()
        except OSError:
            new.close()
            raise
        return new

    def _hold(self, new: socket.socket) -> None:
        with self._guard:
            if self._shut:
                raise ConnectionAbortedError("the attempt is over")
            self._let_go()
            self._grip = new.dup()

    def _open(self) -> None:
        with self._guard:
            if self._shut:
                raise ConnectionAbortedError("the attempt is over")
            self._was_open = True

    def _let_go(self) -> None:
        if self._grip is not None:
            self._grip.close()
            self._grip = None


def is_public(text: str) -> bool:
    """Whether an address is one of the internet's, and does not hide one of the inside."""
    address: IpAddress = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.teredo is not None or address.is_site_local:
            return False
        hidden = _hidden(address)
        if hidden is not None:
            return is_public(str(hidden))
    return address.is_global and not address.is_multicast and not address.is_reserved


def _hidden(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address inside: mapped, 6to4, or translated by NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & _V4_BITS)
    return address.ipv4_mapped or address.sixtofour
