"""What the contract suites share: how a test says what a backend must be able to do."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line("markers", "needs(*capabilities): skipped, loudly, where the backend lacks one of them")
