"""A server that says what a test says, byte by byte, and knows nothing of HTTP."""

import contextlib
import datetime as dt
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.instants import to_datetime

Answer = Callable[[socket.socket], None]
_END_OF_HEAD = b"\r\n\r\n"


@contextmanager
def a_raw_server(answer: Answer, *, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Read one request after the other, and answer; the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                _serve_one(listening, answer, tls)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        serving.join()


def _serve_one(listening: socket.socket, answer: Answer, tls: ssl.SSLContext | None) -> None:
    connection, _ = listening.accept()
    connection.settimeout(10)
    with connection:
        spoken = connection if tls is None else tls.wrap_socket(connection, server_side=True)
        with spoken:
            _read_request(spoken)
            answer(spoken)


def _read_request(connection: socket.socket) -> None:
    """Head and body: what is left unread would reset the connection under the answer."""
    text = b""
    while _END_OF_HEAD not in text and (more := connection.recv(65_536)):
        text += more
    head, _, body = text.partition(_END_OF_HEAD)
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    left = 0 if length is None else int(length[1]) - len(body)
    while left > 0 and (more := connection.recv(left)):
        left -= len(more)


def saying(*parts: bytes) -> Answer:
    """Say this, and hang up."""

    def answer(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return answer


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's TLS with a certificate that nobody has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = to_datetime(SystemClock().now())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
