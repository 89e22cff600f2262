"""The engines, each as its command line and its sign of life. docs/testing.md says what each is trusted for."""

import os
import socket
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from tests.support.emulators.installed import DYNAMODB_LOCAL_JAR, MINISTACK_PYTHON
from tests.support.emulators.server import Emulator, Program, start

# A JVM on two busy cores takes seconds; anything past this is broken, not slow.
START_S_MAX = 60
PROBE_TIMEOUT_S = 2


def start_dynamodb_local() -> Emulator:
    """Start Amazon's own engine for tables, in memory, one database for all regions and credentials.

    It has no option to bind one address: it listens on every interface of the machine while the tests run.
    """
    return start("dynamodb-local", _dynamodb_local, answers=_speaks_http, start_s_max=START_S_MAX)


def start_ministack() -> Emulator:
    """Start the local AWS (tables, queues, functions, rules, stacks), in memory, on the loopback address only."""
    return start("ministack", _ministack, answers=_speaks_http, start_s_max=START_S_MAX)


def start_redis(program: str, libraries: str) -> Emulator:
    """Start a Valkey or a Redis, in memory, on the loopback address only."""
    library_path = {"LD_LIBRARY_PATH": libraries} if libraries else {}

    def on_port(port: int) -> Program:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        return Program([program, *options], _environment() | library_path)

    return start("redis", on_port, answers=_pongs, start_s_max=START_S_MAX)


def _pongs(endpoint: str) -> bool:
    place = urlsplit(endpoint)
    try:
        with socket.create_connection((place.hostname, place.port), timeout=PROBE_TIMEOUT_S) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False


def _dynamodb_local(port: int) -> Program:
    """The first compiler alone and the plain collector more than halve the start: 3 s of processor time, not 7."""
    virtual_machine = ["-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    libraries = f"-Djava.library.path={DYNAMODB_LOCAL_JAR.parent / 'DynamoDBLocal_lib'}"
    options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
    return Program(["java", *virtual_machine, libraries, "-jar", str(DYNAMODB_LOCAL_JAR), *options], _environment())


def _ministack(port: int) -> Program:
    own = {"GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", "PERSIST_STATE": "0"}
    return Program([str(MINISTACK_PYTHON), "-m", "ministack"], _environment() | own)


def _environment() -> dict[str, str]:
    """Give the engine the search path and the temporary folder of this machine, and no one's credentials."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "JAVA_HOME")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _speaks_http(endpoint: str) -> bool:
    """Any HTTP answer will do: an engine refuses an empty request in its own words, once it is up."""
    connection = HTTPConnection(urlsplit(endpoint).netloc, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    else:
        return True
    finally:
        connection.close()
