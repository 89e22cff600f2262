"""Does the link to CloudWatch's console ask for one execution's lines, in the console's own notation?"""

import re
from urllib.parse import unquote

import pytest

from tests.support.builders import TICK, an_execution
from tickwright.adapters.aws.console import log_link
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright.wiring.aws import log_link_from_env

GROUPS = ["/aws/lambda/worker", "Tickwright-dev-Workers-Fleet_1"]


def in_plain_words(link: str) -> str:
    """What the console reads: its two escapes undone, then the codes of characters."""
    detail = link.partition("queryDetail$3D")[2]
    once = unquote(detail.replace("$", "%"))
    return re.sub(r"\*([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), unquote(once))


@pytest.mark.sem("SEM-LOG-1")
def test_the_link_asks_for_the_lines_of_a_run_while_it_ran() -> None:
    """A minute more on both sides, in every log group, whatever their names hold."""
    run = an_execution(
        state=State.SUCCEEDED, started_at=Instant(TICK + 5_000), finished_at=Instant(TICK + 65_000), ttl=TICK // 1_000
    )

    link = log_link("eu-central-1", GROUPS, run)

    assert link.startswith("https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:")
    assert in_plain_words(link) == (
        "~(end~'2026-12-01T00:02:05.000Z~start~'2026-11-30T23:59:05.000Z~timeType~'ABSOLUTE~tz~'UTC~editorString~'"
        f'fields @timestamp, @message\n| filter @message like "{run.ref.id}"\n| sort @timestamp asc'
        "~source~(~'/aws/lambda/worker~'Tickwright-dev-Workers-Fleet_1))"
    )
    assert re.fullmatch(r"[A-Za-z0-9$*.-]+", link.partition("queryDetail")[2])


def test_a_run_that_goes_on_is_looked_for_within_a_day() -> None:
    """A query is charged for what it reads."""
    told = in_plain_words(log_link("eu-central-1", GROUPS, an_execution()))

    assert "~(end~'2026-12-02T00:01:00.000Z~start~'2026-11-30T23:59:00.000Z~" in told


def test_an_installation_links_to_the_log_groups_that_it_names() -> None:
    """By commas; one that names none has no link."""
    named = log_link_from_env({"TICKWRIGHT_LOG_GROUPS": "worker,fleet", "AWS_REGION": "eu-central-1"})
    run = an_execution()

    assert named(run) == log_link("eu-central-1", ["worker", "fleet"], run)
    assert log_link_from_env({})(run) is None


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("cn-north-1", "cn-north-1.console.amazonaws.cn"),
        ("us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"),
    ],
)
def test_each_partition_has_its_own_console(region: str, host: str) -> None:
    """The region names it."""
    assert log_link(region, GROUPS, an_execution()).startswith(f"https://{host}/")
