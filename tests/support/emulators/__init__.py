"""Start and stop the local AWS engines that tests run against.

What they promise and where they differ from AWS: docs/testing.md. They know nothing of Tickwright's tables or queues.
Clients (clients.py) and moto (moto_lock.py) are imported from their own modules: they take a second to load.
"""

from tests.support.emulators.engines import start_dynamodb_local, start_ministack
from tests.support.emulators.installed import missing_dynamodb_local, missing_ministack
from tests.support.emulators.server import Emulator

__all__ = [
    "Emulator",
    "missing_dynamodb_local",
    "missing_ministack",
    "start_dynamodb_local",
    "start_ministack",
]
