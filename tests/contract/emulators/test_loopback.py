"""A test process cannot reach another machine: what its guard refuses and what it lets through."""

import socket

import pytest

from tests.support.loopback import LeavesThisMachineError, is_loopback

# From the range that RFC 5737 keeps for documentation: no machine has it.
ANOTHER_MACHINE = "192.0.2.1"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "abc.localhost", ""])
def test_this_machine_may_be_reached(host: str) -> None:
    """Every spelling of the loopback counts as this machine."""
    assert is_loopback(host)


@pytest.mark.parametrize("host", [ANOTHER_MACHINE, "10.0.0.1", "fe80::1%eth0", "sqs.us-east-1.amazonaws.com"])
def test_another_machine_may_not_be_reached(host: str) -> None:
    """Private ranges, link-local addresses and public names are all outside."""
    assert not is_loopback(host)


def test_a_connection_to_another_machine_is_refused() -> None:
    """The refusal comes before a single packet is sent."""
    with socket.socket() as outward, pytest.raises(LeavesThisMachineError):
        outward.connect((ANOTHER_MACHINE, 80))


def test_a_datagram_to_another_machine_is_refused() -> None:
    """Sockets without a connection are guarded too."""
    with socket.socket(type=socket.SOCK_DGRAM) as outward, pytest.raises(LeavesThisMachineError):
        outward.sendto(b"", (ANOTHER_MACHINE, 80))


def test_the_name_of_another_machine_is_not_looked_up() -> None:
    """A look-up would tell the outside that the test exists."""
    with pytest.raises(LeavesThisMachineError):
        socket.getaddrinfo("sqs.us-east-1.amazonaws.com", 443)
