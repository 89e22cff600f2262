"""A packed function as a running process: Lambda's own client around its handler, and this test's Runtime API."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Self

from tests.packaging.layout import Unpacked
from tests.packaging.runtime_api import Answer, RuntimeApi

END_S_MAX = 10


class Started:
    """One container; what it has said is shown where a test fails."""

    def __init__(self, function: Unpacked, own: Mapping[str, str]) -> None:
        """Start it; it asks for its first event when its handler is imported."""
        self._api = RuntimeApi()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            function.command("-m", "awslambdaric", function.handler),
            env=function.environment({**own, "AWS_LAMBDA_RUNTIME_API": self._api.address}),
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )

    def invoke(self, event: object, *, left_ms: int = 60_000) -> Answer:
        """What it answers; what it has printed goes where pytest shows it."""
        try:
            return self._api.invoke(event, left_ms=left_ms)
        except Exception:
            print(self.said(), file=sys.stderr)  # noqa: T201 - pytest shows it with the failure
            raise

    def said(self) -> str:
        """Everything that it has printed."""
        self._said.seek(0)
        return self._said.read().decode(errors="replace")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._api.close()
        self._process.wait(timeout=END_S_MAX)
        self._said.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()
