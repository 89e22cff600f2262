"""Whether the worker on this machine is well: `python -m functions.fargate_worker.probe` ends with 0 if it says so.

Must not ask more than the worker says of itself: a store that is down would take every machine away, when all that
helps is to wait.
"""

import http.client
import os
import sys

from tickwright.fleet_settings import HEALTH_PORT_DEFAULT

_TIMEOUT_S = 4.0  # under the 5 s that ECS gives a probe


def is_well(port: int) -> bool:
    """Ask the port of this machine's own loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if is_well(int(os.environ.get("TICKWRIGHT_HEALTH_PORT", HEALTH_PORT_DEFAULT))) else 1)
