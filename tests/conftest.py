"""What holds for every test: one set of time zones, no credentials, no proxies, no other machine, the same examples.

What was not tested is said at the very end, loudly: a skip that nobody reads is a green lie.
"""

import os
import zoneinfo
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from tests.support.emulators.sharing import OneEngineOneWorker, needs_an_engine
from tests.support.loopback import stay_on_this_machine

pytest_plugins = ["tests.support.emulators.fixtures"]

NOT_FOR_TESTS = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_ENDPOINT_URL",
)
FOR_TESTS = {
    # Zone rules come from the pinned tzdata package, here as in Lambda.
    "PYTHONTZPATH": "",
    # Invented credentials: a client that escapes its emulator is refused, and none of the user's are read.
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "*",
    "POWERTOOLS_METRICS_NAMESPACE": "tickwright",
    "POWERTOOLS_SERVICE_NAME": "tickwright",
    # jsii prints a banner on Node 20, which works.
    "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    # Read once, when a process first loads CDK, by whichever module that is. `make gate` is a process of its own.
    "CDK_VALIDATION": "false",
}

# The same examples on every machine, and no deadline: a busy core is not a bug. `nightly` goes looking for new ones.
settings.register_profile("every", derandomize=True, deadline=None, print_blob=True, database=None)
settings.register_profile(
    "nightly", deadline=None, max_examples=5_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "every"))


def pytest_configure() -> None:
    """Set the world up before any test module is imported: clients read the environment when they are made."""
    for name in NOT_FOR_TESTS:
        os.environ.pop(name, None)
        os.environ.pop(name.lower(), None)
    os.environ.update(FOR_TESTS)
    zoneinfo.reset_tzpath(to=())
    stay_on_this_machine()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs an engine, and leave nightly tests to those who ask for them."""
    for item in items:
        if needs_an_engine(item):
            item.add_marker("emulator")
    if "nightly" not in config.option.markexpr:
        nightly = [item for item in items if item.get_closest_marker("nightly") is not None]
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneEngineOneWorker:
    """Let one engine, and one synthesised app, serve the whole run."""
    return OneEngineOneWorker(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in plain words what this run did not test, and why."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if not reasons:
        return
    terminalreporter.section("NOT TESTED", sep="!", red=True, bold=True)
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} skipped: {reason}", red=True)
