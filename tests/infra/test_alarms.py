"""Alarms: for whatever can go wrong, on metrics that exist, and with a page that says what to do."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from infra.alarm_settings import TICK_WAIT_S_MIN, AlarmSettings
from infra.constructs.measures import NAMESPACE
from infra.context import ROOT
from infra.policy.alarm_checks import ALARM, check_alarms
from infra.policy.checks import Finding
from infra.policy.runbook import Runbook
from infra.policy.templates import Templates
from infra.required import SettingRefused
from infra.settings import LANES, STAGES, Settings
from tests.infra.conftest import Synthesise
from tests.support.clocks import VirtualLoop
from tests.support.kits import World
from tests.support.steps import for_a_while
from tickwright.adapters.telemetry import metrics as written
from tickwright.domain.limits import LANDING_AGAIN_MS, STANDARD
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.ticks import TicksLoop
from tickwright.wiring.aws import measured as measured_as
from tools.cost.standing import counts_of

PROD = STAGES["prod"]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
TOPIC = "arn:aws:sns:eu-central-1:123456789012:on-call"


def alarms_of(templates: Templates) -> dict[str, dict[str, Any]]:
    """Every alarm, by the name it has in its stack."""
    found = {}
    for address, alarm in templates.of_type(ALARM):
        if name := re.fullmatch(r"(\w+?)[0-9A-F]{8}", address.logical_id):
            found[name[1]] = alarm["Properties"]
    return found


def with_alarms(**changes: Any) -> Settings:  # noqa: ANN401 - fields of several types
    return replace(PROD, alarms=replace(PROD.alarms, **changes))


# --- rules --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", STAGES)
def test_whatever_can_go_wrong_in_a_stage_calls_somebody(stages: Mapping[str, Templates], stage: str) -> None:
    """Each queue, function, table and index has its alarm, and each alarm its page."""
    assert alarms_of(stages[stage])
    assert check_alarms(stages[stage]) == []


Resources = dict[str, Any]


def without_alarms_on(word: str) -> Callable[[Resources], None]:
    def take_away(resources: Resources) -> None:
        for name in [name for name in resources if re.match(word, name)]:
            del resources[name]

    return take_away


def say_nothing(resources: Resources) -> None:
    alarm = next(each for each in resources.values() if each["Type"] == ALARM)
    alarm["Properties"]["AlarmDescription"] = "See docs/operations.md#a-section-that-nobody-wrote"


BROKEN: dict[str, tuple[str, Callable[[Resources], None]]] = {
    "alarm-runbook": ("", say_nothing),
    "alarm-queue of a lane": ("QueueHigh", without_alarms_on("(OldestHint|LaneUnserved)High")),
    "alarm-queue of the fleet": ("QueueFargateLow", without_alarms_on("FleetUnservedLow")),
    "alarm-queue of what was given up": ("QueueNormalUndelivered", without_alarms_on("NormalUndelivered")),
    "alarm-queue of the dead": ("QueueDeadExecutions", without_alarms_on("DeadLetters")),
    "alarm-function by errors": ("Scheduler", without_alarms_on("SchedulerFunctionErrors")),
    "alarm-function by errors that are answers": ("Api", without_alarms_on("ApiFunctionErrors")),
    "alarm-function by throttles": ("Worker", without_alarms_on("WorkerFunctionThrottles")),
    "alarm-function by what it counts itself": ("Authorizer", without_alarms_on("AuthorizerFails")),
    "alarm-table": ("Journal", without_alarms_on("JournalThrottles")),
    "alarm-table of an index": ("Jobs", without_alarms_on("JobsDueThrottles")),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_rule_for_alarms_finds_what_has_none(prod: Templates, broken: str) -> None:
    """A check that cannot fail guards nothing."""
    where, how = BROKEN[broken]

    findings = findings_in(prod, "prod", how)

    assert {finding.rule for finding in findings} == {broken.partition(" ")[0]}
    assert all(where in finding.where for finding in findings)


# By what each alarm speaks for where alarms are coarse.
SPOKEN_FOR: dict[str, tuple[str, set[str]]] = {
    "RunsWaitLow": (
        "alarm-queue",
        {"QueueLow", "QueueLowUndelivered", "QueueFargateLow", "QueueFargateLowUndelivered"},
    ),
    "FunctionThrottles": ("alarm-function", {*STAGES["dev"].functions}),
    "PoolsUndelivered": ("alarm-queue", {"QueuePoolsUndelivered"}),
    "WatchFunctionErrors": ("alarm-function", {"watch"}),
    "ApiAnswers5xx": ("alarm-function", {"api", "claim"}),
    "ExecutionsWaitingThrottles": ("alarm-table", {"Executions"}),
}


@pytest.mark.parametrize("alarm", SPOKEN_FOR)
def test_where_alarms_are_coarse_a_rule_finds_all_that_one_has_spoken_for(dev: Templates, alarm: str) -> None:
    """None of them has another."""
    rule, left = SPOKEN_FOR[alarm]

    findings = findings_in(dev, "dev", without_alarms_on(alarm))

    assert {finding.rule for finding in findings} == {rule}
    named = {finding.where.partition("/")[2] for finding in findings}
    assert len(named) == len(left)
    assert all(any(name.lower().startswith(one.lower()) for name in named) for one in left)


def findings_in(templates: Templates, stage: str, how: Callable[[Resources], None]) -> list[Finding]:
    """What the rules say once something was done to a stage's alarms."""
    copy = json.loads(json.dumps(templates.by_stack))
    how(copy[f"Tickwright-{stage}-Observability"]["Resources"])
    return check_alarms(Templates(copy))


# --- the page -----------------------------------------------------------------------------------------------------
def sections() -> dict[str, str]:
    """The page's sections on alarms, by their headings."""
    part = PAGE.partition("\n## Alarms\n")[2].partition("\n## ")[0]
    texts = re.split(r"^### (.+)$", part, flags=re.MULTILINE)
    return dict(zip(texts[1::2], texts[2::2], strict=True))


def test_every_alarm_has_its_section_and_every_section_its_alarm(prod: Templates) -> None:
    """Nobody is called to a page that is not there, and no page waits for a call that never comes."""
    linked = {alarm["AlarmDescription"].rpartition("#")[2] for alarm in alarms_of(prod).values()}

    assert set(sections()) == {entry.value for entry in Runbook}
    assert linked == {entry.anchor for entry in Runbook}


@pytest.mark.parametrize("heading", [entry.value for entry in Runbook])
def test_a_section_says_what_it_means_what_to_look_at_and_what_to_do(heading: str) -> None:
    """In this order, each worth a line."""
    means, look, do = re.split(r"\*(?:Look at|Do)\*", sections()[heading])

    assert all(len(part.split()) > 5 for part in (means, look, do))


def test_an_owner_s_own_copy_of_the_page_is_linked(synthesise: Synthesise) -> None:
    """Whoever is called does not have this repository at hand."""
    templates = synthesise(with_alarms(runbook="https://wiki.example.com/tickwright"))

    for alarm in alarms_of(templates).values():
        assert "https://wiki.example.com/tickwright#" in alarm["AlarmDescription"]


# --- what is measured ---------------------------------------------------------------------------------------------
def measured(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics of an alarm."""
    if "MetricName" in alarm:
        return [alarm]
    return [each["MetricStat"]["Metric"] for each in alarm["Metrics"] if "MetricStat" in each]


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_on_the_product_s_own_metrics_watch_what_it_writes(stages: Mapping[str, Templates], stage: str) -> None:
    """By name and dimensions: an alarm on a metric that nobody writes would never ring.

    How long runs wait speaks for the queues, where those have no alarms of their own.
    """
    kinds = (written.OF_CLAIMS, written.OF_BUCKETS, written.OF_TROUBLE)
    wrote = {(metric.name, ("Stage", *one.by)) for kind in kinds for one in kind.values() for metric in one.metrics}
    watched = {
        (metric["MetricName"], tuple(sorted((each["Name"] for each in metric.get("Dimensions", [])), reverse=True)))
        for alarm in alarms_of(stages[stage]).values()
        for metric in measured(alarm)
        if metric.get("Namespace") == NAMESPACE
    }
    unwatched = set() if STAGES[stage].alarms.coarse else {("RunWait", ("Stage", "Lane"))}

    assert written.NAMESPACE == NAMESPACE
    assert watched == wrote - unwatched | {(f"AuthorizerFailures-{stage}", ())}


def test_a_start_that_is_a_second_late_rings_in_the_lanes_that_promise_it(prod: Templates) -> None:
    """By the 99th percentile of a minute; one cold start in a quiet hour does not."""
    alarms = alarms_of(prod)

    for lane in ("High", "Normal"):
        alarm = alarms[f"DispatchLag{lane}"]
        assert (alarm["Threshold"], alarm["ExtendedStatistic"], alarm["Period"]) == (1_000, "p99", 60)
        assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (3, 5)
    assert "DispatchLagBackfill" not in alarms


def test_a_lane_that_nobody_polls_rings_within_minutes_in_each_pool(prod: Templates) -> None:
    """Nothing starts there, so no start is late; and a hint is old after half an hour, or after a day."""
    alarms = alarms_of(prod)

    for lane in LANES:
        for pool in ("Lane", "Fleet"):
            alarm = alarms[f"{pool}Unserved{lane.capitalize()}"]
            assert alarm["DatapointsToAlarm"] == alarm["EvaluationPeriods"] == 10
            assert {each["MetricName"] for each in measured(alarm)} == {
                "ApproximateNumberOfMessagesVisible",
                "NumberOfMessagesReceived",
            }


def test_where_alarms_are_coarse_a_run_that_nobody_takes_rings_until_it_is_looked_at_again(dev: Templates) -> None:
    """The journal's looks are up to an hour apart, and begin two minutes after it might have been taken."""
    alarms = alarms_of(dev)

    for lane in LANES:
        alarm = alarms[f"RunsWait{lane.capitalize()}"]
        assert alarm["Threshold"] == STAGES["dev"].alarms.run_waits_s[lane] * 1_000
        assert (alarm["Statistic"], alarm["DatapointsToAlarm"]) == ("Maximum", 1)
        assert alarm["Period"] * alarm["EvaluationPeriods"] * 1_000 > STANDARD.recheck_ms_max + STANDARD.watch_ms
    assert not [name for name in alarms if "Unserved" in name or "OldestHint" in name]


def test_coarse_alarms_are_on_one_metric_each_and_far_fewer(stages: Mapping[str, Templates]) -> None:
    """Each metric is paid for by the month, also within an expression."""
    paid = {stage: counts_of(templates)["alarmMetrics"] for stage, templates in stages.items()}

    assert paid["dev"] == len(alarms_of(stages["dev"]))
    assert 2 * paid["dev"] < paid["prod"] == paid["staging"]


def test_alarms_can_be_made_coarse_and_fine_again_while_everything_runs(synthesise: Synthesise, dev: Templates) -> None:
    """CloudFormation takes no name away that another stack still uses, and the alarms are deployed last."""
    fine = synthesise(replace(STAGES["dev"], alarms=AlarmSettings()))

    named = [
        {stack: set(template.get("Outputs", ())) for stack, template in templates.by_stack.items()}
        for templates in (dev, fine)
    ]
    assert len(alarms_of(dev)) < len(alarms_of(fine))
    assert named[0] == named[1]


def test_silence_rings_where_something_has_to_be_heard_and_nowhere_else(prod: Templates) -> None:
    """A scheduler without a pulse is an outage; a lane without work is none."""
    missing = {name: alarm["TreatMissingData"] for name, alarm in alarms_of(prod).items()}

    breaching = {name for name, treated in missing.items() if treated == "breaching"}
    assert breaching == {"SchedulerSilent", "WatchSilent"}
    assert {missing[name] for name in set(missing) - breaching} == {"notBreaching"}


def test_buckets_that_nobody_serves_are_heard_beside_one_that_somebody_does(synthesise: Synthesise) -> None:
    """A look at each bucket a second: fifteen of sixteen that are silent leave sixty a minute."""
    settings = replace(STAGES["prod"], buckets_served=64)
    alarm = alarms_of(synthesise(settings))["SchedulerSilent"]
    served_by = {buckets: 60 * buckets for buckets in (1, 31, 33, 64)}

    assert alarm["ComparisonOperator"] == "LessThanThreshold"
    assert {buckets: looks < alarm["Threshold"] for buckets, looks in served_by.items()} == {
        1: True,
        31: True,
        33: False,
        64: False,
    }


def rings(alarm: dict[str, Any], lines: Iterable[str]) -> list[int]:
    """In which minutes an alarm on a maximum of a minute rings, by the metrics that were written."""
    name, highest = alarm["MetricName"], dict[int, float]()
    for line in map(json.loads, lines):
        if name in line:
            minute = line["_aws"]["Timestamp"] // 60_000
            highest[minute] = max(line[name] + [highest.get(minute, 0)])
    bad = [minute for minute, value in highest.items() if value >= alarm["Threshold"]]
    since, until = (min(bad), max(bad)) if bad else (0, 0)
    looked_at = range(since, until + alarm["EvaluationPeriods"])
    return [
        minute
        for minute in looked_at
        if len([one for one in bad if 0 <= minute - one < alarm["EvaluationPeriods"]]) >= alarm["DatapointsToAlarm"]
    ]


@pytest.mark.sem("SEM-BUCKET-5")
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("served", "is_heard"), [(7, True), (8, False)])
def test_one_bucket_that_nobody_serves_rings_beside_seven_that_somebody_does(
    stages: Mapping[str, Templates], stage: str, served: int, capsys: pytest.CaptureFixture[str], *, is_heard: bool
) -> None:
    """Within five minutes of the first job's tick there, by what the watch finds, as CloudWatch is told."""
    alarm = alarms_of(stages[stage])["TicksWait"]

    async def live() -> int:
        world = World(buckets=8)
        began = world.clock.now() // 60_000
        heads = [await world.submit(schedule={"every": "PT1M"}) for _ in range(64)]
        assert {head.bucket for head in heads} == set(range(8))
        looking = TicksLoop(measured_as(world.kit, written.OF_TROUBLE, Stage=stage))
        await for_a_while(world, 8 * 60_000, looking, SchedulerLoop(replace(world.kit, buckets=served), "s"))
        await world.close()
        return began

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        began = runner.run(live())

    minutes = rings(alarm, capsys.readouterr().out.splitlines())
    assert (alarm["Namespace"], alarm["Statistic"], alarm["Period"]) == (NAMESPACE, "Maximum", 60)
    assert alarm["TreatMissingData"] == "notBreaching"
    assert [minute - began for minute in minutes][:1] == ([4] if is_heard else [])


def test_a_tick_that_waits_rings_no_sooner_than_it_is_told_of_and_not_for_one_bad_minute(prod: Templates) -> None:
    """Where nobody stands by, a bucket may be without a scheduler for two minutes."""
    alarm = alarms_of(prod)["TicksWait"]

    assert alarm["Threshold"] == TICK_WAIT_S_MIN * 1_000 == STANDARD.undecided_ms
    assert alarm["DatapointsToAlarm"] > 2


@pytest.mark.sem("SEM-INTAKE-1")
def test_a_submission_that_comes_back_rings_though_sqs_no_longer_tells_its_age(prod: Templates) -> None:
    """By what the function says at each landing that failed: every 30 s, in each period of the alarm."""
    alarm = alarms_of(prod)["SubmissionComesBack"]

    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == (NAMESPACE, "SubmissionWait", "Maximum")
    assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (PROD.alarms.oldest_submission_s * 1_000, 1)
    assert alarm["Period"] * 1_000 > LANDING_AGAIN_MS


def test_a_key_that_is_refused_is_no_failure_of_the_authorizer(prod: Templates) -> None:
    """It refuses by failing: callers with bad keys must not call anybody."""
    (counted,) = [each["Properties"] for _, each in prod.of_type("AWS::Logs::MetricFilter")]

    assert "AuthorizerFunctionErrors" not in alarms_of(prod)
    assert "AUTHORIZER_FAILURE" in counted["FilterPattern"]
    assert "UNAUTHORIZED" not in counted["FilterPattern"]


def test_whoever_is_named_is_told_when_it_begins_and_when_it_ends(synthesise: Synthesise, prod: Templates) -> None:
    """Without a topic alarms are only shown."""
    told = alarms_of(synthesise(with_alarms(topic_arn=TOPIC)))

    assert all(alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC] for alarm in told.values())
    assert all("AlarmActions" not in alarm for alarm in alarms_of(prod).values())


def test_the_dashboard_draws_what_is_promised_first(prod: Templates) -> None:
    """Alarms, then how late runs start; every lane is in it."""
    ((_, page),) = prod.of_type("AWS::CloudWatch::Dashboard")
    _, parts = page["Properties"]["DashboardBody"]["Fn::Join"]
    body = "".join(part for part in parts if isinstance(part, str))

    assert body.index("DispatchLag") < body.index("AWS/SQS") < body.index("AWS/DynamoDB")
    assert all(f'"Lane","{lane}"' in body for lane in LANES)


# --- settings -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: AlarmSettings(topic_arn="on-call"), id="a topic by its name"),
        pytest.param(lambda: AlarmSettings(runbook=""), id="a page that is nowhere"),
        pytest.param(lambda: AlarmSettings(runbook="docs#page"), id="a page with a place in it"),
        pytest.param(lambda: AlarmSettings(dispatch_lag_ms={}), id="nothing that is promised"),
        pytest.param(lambda: AlarmSettings(dispatch_lag_ms={"high": 0}), id="an alarm that always rings"),
        pytest.param(lambda: AlarmSettings(tick_wait_s=59), id="a wait that nobody tells of"),
        pytest.param(lambda: AlarmSettings(dead_letters=0), id="an alarm on no death at all"),
        pytest.param(lambda: with_alarms(run_waits_s={"high": 600}), id="a lane that nobody would hear of"),
        pytest.param(lambda: AlarmSettings(api_errors_percent=100.0), id="an alarm that never rings"),
        pytest.param(lambda: with_alarms(dispatch_lag_ms={"urgent": 1_000}), id="a lane that is none"),
        pytest.param(
            lambda: with_alarms(oldest_hint_s=MappingProxyType({"high": 1_700})), id="an age that a run may have"
        ),
    ],
)
def test_alarms_that_could_not_ring_or_always_would_are_refused(change: Callable[[], object]) -> None:
    """Found while reading the settings."""
    with pytest.raises(SettingRefused):
        change()
