"""Start and stop the local AWS engines that tests run against.

What they promise and where they differ from AWS: docs/testing.md. They know nothing of Tickwright's tables or queues.
"""

from tests.support.emulators.clients import aws_client
from tests.support.emulators.engines import start_dynamodb_local, start_ministack
from tests.support.emulators.installed import missing_dynamodb_local, missing_ministack
from tests.support.emulators.moto_lock import atomic_moto
from tests.support.emulators.server import Emulator

__all__ = [
    "Emulator",
    "atomic_moto",
    "aws_client",
    "missing_dynamodb_local",
    "missing_ministack",
    "start_dynamodb_local",
    "start_ministack",
]
