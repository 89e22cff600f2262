"""The clock that speed promises are measured with: CPU time of this process, which a busy machine does not stretch."""

import time
from collections.abc import Callable

import pytest

CpuClock = Callable[[Callable[[], object]], float]


@pytest.fixture
def cpu_ms() -> CpuClock:
    """Milliseconds of CPU that a call takes."""

    def measure(call: Callable[[], object]) -> float:
        start = time.process_time()
        call()
        return (time.process_time() - start) * 1_000

    return measure
