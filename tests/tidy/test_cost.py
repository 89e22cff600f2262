"""What `make cost` and docs/capacity.md say follows from what was measured and from the prices alone."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from infra.policy.templates import Templates
from infra.settings import LANES, STAGES
from infra.stacks.data import DUE, INDEXES
from infra.table_settings import SELDOM, Capacity, Provisioned, Units
from tests.bench.sizes import size_of
from tickwright.adapters.telemetry.metrics import OF_BUCKETS, OF_PLACES
from tickwright.domain import limits
from tools.cost import idle, measured, page, prices, sizing, standing
from tools.cost.__main__ import main
from tools.cost.load import LAMBDA_RUN_S_MAX, Load, Mode, Place, bill, runs_at_once, total, units_of
from tools.cost.measured import Record
from tools.cost.rivals import rivals

RECORD = measured.read()
LOAD = Load(executions_a_day=1_000_000)
IDLE_MOST = 30.0


def row(**tables_of: Mapping[str, float]) -> dict[str, Any]:
    """A measurement of one execution."""
    return {"tables": tables_of, "sqsRequests": 0.4, "retries": 1, "runS": 45}


def replace_row(record: Record, name: str, **tables_of: Mapping[str, float]) -> Record:
    """The same, with other tables measured besides."""
    found = record.rows[name]
    return Record({**record.rows, name: {**found, "tables": {**found["tables"], **tables_of}}})


MADE_UP = Record(
    {
        "units.plain": row(jobs={"update_item": 3, "query": 9}, executions={"put_item": 3}, control={"update_item": 7}),
        "units.retries": row(jobs={"update_item": 3}, executions={"put_item": 5}, control={"update_item": 70}),
        "units.long": row(jobs={"update_item": 3}, executions={"put_item": 6}),
        "sizes": {"bytes": {"execution": 300, "head": 400, "definition": 900, "name": 100}},
    }
)


# --- units ------------------------------------------------------------------------------------------------------
def test_what_costs_by_the_hour_is_in_no_execution() -> None:
    """Leases of buckets and looks at the due index go on when nothing runs."""
    costs = MADE_UP.execution()

    assert (costs.plain.writes, costs.plain.reads) == (6, 0)
    assert costs.retry.writes == 2
    assert costs.heartbeat.writes == 1


def test_a_load_takes_its_retries_and_heartbeats_besides() -> None:
    """A tenth of all runs is tried again, and each attempt of 40 s heartbeats twice."""
    load = replace(LOAD, retries=0.1, run_s=40)

    assert units_of(load, MADE_UP).writes == pytest.approx(6 + 0.1 * 2 + 2 * 1.1)


def test_the_measured_execution_is_what_the_data_model_says() -> None:
    """About 6.2 write units: who makes it dearer changes both pages."""
    costs = RECORD.execution()

    assert 6 < costs.plain.writes < 6.4
    assert costs.retry.writes == pytest.approx(2, abs=0.1)
    assert costs.heartbeat.writes == pytest.approx(1, abs=0.05)


def test_a_measured_head_is_under_a_kilobyte() -> None:
    """Each decision is one unit for that."""
    assert RECORD.bytes_of("head") + 100 < 1_024


# --- bills ------------------------------------------------------------------------------------------------------
def test_twice_as_many_cost_twice_as_much() -> None:
    """Nothing in a bill is there once."""
    twice = replace(LOAD, executions_a_day=2 * LOAD.executions_a_day)

    assert total(bill(twice, RECORD)) == pytest.approx(2 * total(bill(LOAD, RECORD)))


def test_writes_are_what_their_number_costs_on_demand() -> None:
    """30 million executions of six units and a fiftieth of two, at 62.5 cents a million."""
    (writes, *_) = bill(LOAD, MADE_UP)

    assert writes.dollars == pytest.approx(30 * 6.04 * 0.625)


def test_provisioned_capacity_pays_where_it_is_used() -> None:
    """Full, it costs under a third; nearly idle, it costs more than what it replaces."""
    paid = [total(bill(replace(LOAD, mode=Mode.PROVISIONED, utilisation=used), RECORD)[:2]) for used in (1.0, 0.7, 0.1)]
    on_demand = total(bill(LOAD, RECORD)[:2])

    assert all(more > less for less, more in pairwise(paid))
    assert paid[0] < on_demand / 3
    assert paid[2] > on_demand


def test_pages_of_the_journal_are_paid_for_on_demand_either_way() -> None:
    """It stays so where jobs and executions are provisioned: a tenth of a unit at 62.5 cents a million, full or not."""
    journal = replace_row(MADE_UP, "units.plain", journal={"put_item": 0.1})
    load = replace(LOAD, mode=Mode.PROVISIONED, utilisation=0.01, retries=0)

    with_pages, without = (bill(load, record)[0].dollars for record in (journal, MADE_UP))

    assert with_pages - without == pytest.approx(30 * 0.1 * 0.625)


def test_hints_that_travel_alone_cost_three_requests() -> None:
    """Send, receive, delete."""
    (alone,) = [line for line in bill(replace(LOAD, batch=1, retries=0), RECORD) if line.what.startswith("SQS")]

    assert alone.dollars == pytest.approx(30 * 3 * 0.5)


def test_machines_follow_littles_law() -> None:
    """864,000 a day are ten a second; of 9.9 s and a tenth they are a hundred at once, ten a machine."""
    load = Load(executions_a_day=864_000, run_s=9.9, retries=0, place=Place.FARGATE)

    assert runs_at_once(load) == pytest.approx(100)
    assert sizing.work(load).machines == 10
    assert sizing.work(replace(load, run_s=29.9)).heartbeats_a_second == pytest.approx(300 / 15)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda: Load(executions_a_day=0), id="no executions"),
        pytest.param(lambda: replace(LOAD, utilisation=0), id="capacity that nobody uses"),
        pytest.param(lambda: replace(LOAD, retries=-1), id="fewer attempts than runs"),
    ],
)
def test_a_load_that_cannot_be_is_refused(broken: Callable[[], Load]) -> None:
    """Before it becomes a number that somebody believes."""
    with pytest.raises(AssertionError):
        broken()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--executions", "0"),
        ("--executions", "-5"),
        ("--executions", "many"),
        ("--run-s", "-1"),
        ("--run-s", "nan"),
        ("--retries", "-1"),
        ("--utilisation", "0"),
        ("--utilisation", "5"),
        ("--batch", "0"),
    ],
)
def test_whoever_asks_for_what_cannot_be_is_told_what_can(
    wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As any wrong option, with the numbers that are taken."""
    with pytest.raises(SystemExit) as ended:
        main(["bill", "--executions", "1000", *wrong])

    assert ended.value.code == 2
    assert f"argument {wrong[0]}: {wrong[1]!r} is no number from " in capsys.readouterr().err


@pytest.mark.parametrize("written", ["1e7", "10,000,000"])
def test_a_large_number_may_be_written_as_people_do(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Seven zeros are easily miscounted."""
    main(["bill", "--executions", written, "--json"])

    assert json.loads(capsys.readouterr().out)["executionsADay"] == 10_000_000


@pytest.mark.parametrize(
    ("run_s", "columns", "told"),
    [
        ("3600", {"Fargate, 3600 s"}, "ends after 840 s"),
        ("30", {"Lambda, 30 s", "Fargate, 60 s"}, "are of runs of 60 s"),
        ("300", {"Lambda, 300 s", "Fargate, 300 s"}, ""),
    ],
)
def test_no_run_has_a_bill_where_it_could_not_run(
    run_s: str, columns: set[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a column that is of another length says so."""
    main(["bill", "--executions", "1000", "--run-s", run_s])

    said = capsys.readouterr().out
    assert set(re.findall(r"(?:Lambda|Fargate), \d+ s", said)) == columns
    assert told in said
    assert (not told) == ("Lambda ends" not in said and "are of runs of" not in said)


def test_the_longest_run_on_lambda_is_that_of_the_product() -> None:
    """Which the tool must not import for it."""
    assert limits.LAMBDA_TIMEOUT_S_MAX == LAMBDA_RUN_S_MAX


def test_others_are_told_beside_it() -> None:
    """A dollar a million for the cheapest, 75 for a state machine of one step."""
    asked = {rival.name: rival.dollars for rival in rivals(LOAD)}

    assert asked["EventBridge Scheduler"] == pytest.approx(30)
    assert asked["Step Functions Standard"] == pytest.approx(30 * 75)


def test_every_price_says_where_it_was_read() -> None:
    """And nothing is counted that has none."""
    assert set(prices.PRICES) == set(prices.Item)
    assert all(price.dollars > 0 and price.source for price in prices.PRICES.values())


# --- idle -------------------------------------------------------------------------------------------------------
def test_the_smallest_installation_idles_for_thirty_dollars_a_month_at_most() -> None:
    """At list prices, with its fleet."""
    lines = idle.idle_lines(STAGES["dev"], RECORD)

    assert idle.total(lines, idle.Part.CORE, idle.Part.FLEET) <= IDLE_MOST


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_an_idle_installation_is_measured_with_the_settings_that_it_has(stage: str) -> None:
    """Whoever changes buckets or slots measures again (make bench-idle)."""
    minute, settings = RECORD.idle(stage), STAGES[stage]

    assert (minute.buckets, minute.slots) == (settings.buckets, settings.scheduler_slots)


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_mapping_is_counted_with_its_pollers(stage: str) -> None:
    """Of each lane, and of the intake: five pollers each, which wait twenty seconds at a time."""
    assert RECORD.standing(stage)["mappings"] == len(LANES) + 1

    (line,) = [line for line in idle.idle_lines(STAGES[stage], RECORD) if line.what == "SQS"]
    assert line.how.startswith("75 empty receives")


def test_an_alarm_is_counted_with_every_metric_that_it_reads() -> None:
    """One of its own, or each of an expression's, also where another alarm reads it too."""
    ours = {"Namespace": "Tickwright", "MetricName": "Bugs"}
    alarms = {
        "A": {"Type": "AWS::CloudWatch::Alarm", "Properties": ours},
        "B": {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "Metrics": [
                    {"Expression": "a / b"},
                    {"MetricStat": {"Metric": ours}},
                    {"MetricStat": {"Metric": {"Namespace": "AWS/SQS", "MetricName": "Age"}}},
                ]
            },
        },
    }
    counts = standing.counts_of(Templates({"Stack": {"Resources": alarms}}))

    assert (counts["alarms"], counts["alarmMetrics"]) == (2, 3)


def test_a_target_that_is_tracked_is_two_alarms_on_all_that_it_is_computed_of() -> None:
    """One to scale out and one to scale in, which nobody sees in a template."""
    alone = {"MetricName": "PlacesTaken", "Namespace": "Tickwright"}
    computed = {"Metrics": [{"Expression": "a / b"}, {"MetricStat": {}}, {"MetricStat": {}}]}
    policies = {
        name: {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {"TargetTrackingScalingPolicyConfiguration": {"CustomizedMetricSpecification": tracked}},
        }
        for name, tracked in (("A", alone), ("B", computed))
    }
    counts = standing.counts_of(Templates({"Stack": {"Resources": policies}}))

    assert counts["scalingMetrics"] == 2 * (1 + 2)


def test_custom_metrics_are_paid_for_where_somebody_writes_while_nothing_runs() -> None:
    """The schedulers' pulse, and what the machines of each service say; a lane without a start is paid for nowhere."""
    at_rest = {metric.name for kinds in (OF_BUCKETS, OF_PLACES) for one in kinds.values() for metric in one.metrics}
    services = len(STAGES["prod"].fleet.services)

    assert at_rest == {"BucketsServed", "PlacesTaken"}
    assert idle.custom_metrics(STAGES["prod"]) == (1, services)


CAPACITY = Capacity(reads=Units(least=10, most=99), writes=Units(least=100, most=999))
PROVISIONED = Provisioned(jobs=CAPACITY, due=CAPACITY, executions=CAPACITY, seldom=CAPACITY)


def test_what_is_provisioned_is_paid_for_while_nothing_runs() -> None:
    """The least of two tables and four indexes, by the hour; of what is used, that of the other tables alone."""
    stage = replace(STAGES["prod"], tables=replace(STAGES["prod"].tables, provisioned=PROVISIONED))

    lines = {line.what: line for line in idle.idle_lines(stage, RECORD)}

    assert lines["DynamoDB, provisioned"].dollars == pytest.approx(730 * 6 * (100 * 0.00065 + 10 * 0.00013))
    assert lines["DynamoDB: alarms of scaling"].dollars == pytest.approx(4 * 2 * 6 * 0.1)
    asked = RECORD.idle("prod").tables
    control, journal = asked["control"], asked["journal"]
    reads, writes = control["get_item"] + control["query"] + journal["query"], control["update_item"]
    assert lines["DynamoDB reads"].how == f"{reads:g} RU a minute"
    assert lines["DynamoDB writes"].how == f"{writes:g} WU a minute, 16 buckets"


def test_the_pages_say_what_scaling_costs_and_where_provisioned_capacity_begins_to_pay() -> None:
    """Four alarms of each of twelve capacities; full by three tenths it costs what it replaces."""
    alarms = f"${4 * 12 * prices.of(prices.Item.ALARM):.2f} a month"
    even = prices.of(prices.Item.WRITE_HOUR) / 3_600 / prices.of(prices.Item.WRITE)

    assert all(alarms in (page.PAGE.parent / name).read_text("utf-8") for name in ("capacity.md", "deploy.md"))
    assert 0.28 < even < 0.3


def test_what_is_seldom_written_is_each_index_but_the_due_index() -> None:
    """Whose number is in the price."""
    assert sorted(SELDOM) == sorted({index for indexes in INDEXES.values() for index in indexes} - {DUE})


# --- sizing -----------------------------------------------------------------------------------------------------
def test_a_herd_asks_for_as_much_as_its_writes() -> None:
    """100,000 within the look-ahead: 20,000 decisions a second, and 40,000 writes of the index."""
    asked = {demand.where: demand for demand in sizing.herd(100_000, start_within_s=10)}

    assert asked["jobs, index due"].writes_a_second == 40_000
    assert asked["jobs, index due"].partitions == 40
    assert sizing.places_for(100_000, run_s=1, start_within_s=10) == 9_091


def test_each_table_and_index_takes_its_share_of_a_load() -> None:
    """Of 100 a second: a decision and its two of the index, an insert, a claim and an end, and two heartbeats each."""
    load = Load(executions_a_day=8_640_000, run_s=40, retries=0)

    taken = {each.where: each for each in sizing.taken(load, RECORD)}

    writes = {where: round(each.writes) for where, each in taken.items()}
    assert writes == {"jobs": 100, "due": 200, "executions": 500, "seldom": 0}
    assert taken["executions"].write_units == 715
    assert taken["executions"].reads == pytest.approx(100)
    assert all(each.reads > 0 for each in taken.values())


def test_an_index_of_deaths_keeps_up_when_each_one_dies() -> None:
    """Half of them by its capacity, the other half for five minutes by what it has not used in the five before."""
    taken = {each.where: each for each in sizing.taken(Load(executions_a_day=8_640_000), RECORD)}

    assert taken["seldom"].write_units == 50


def test_the_shares_of_tables_and_indexes_are_the_whole() -> None:
    """But for the pages of the journal, which is not provisioned."""
    load = Load(executions_a_day=8_640_000)

    shared = sum(each.writes for each in sizing.taken(load, RECORD))

    assert shared == pytest.approx(100 * (units_of(load, RECORD) - units_of(load, RECORD, "journal")).writes)


def test_buckets_follow_the_fires() -> None:
    """500 a second are what one partition takes; 200 are planned for."""
    needed = sizing.buckets(5_787, MADE_UP, held=29)

    assert (needed.at_the_limit, needed.planned) == (12, 29)


def test_an_item_is_as_long_as_its_names_and_values() -> None:
    """By DynamoDB's rules: text in UTF-8, numbers by two digits, a byte for each member of a map."""
    assert size_of({"ab": {"S": "é"}}) == 4
    assert size_of({"n": {"N": "12345"}}) == 1 + 1 + 3
    assert size_of({"m": {"M": {"k": {"BOOL": True}}}}) == 1 + 3 + 1 + 1 + 1


# --- the page and the command -----------------------------------------------------------------------------------
def test_the_page_is_current() -> None:
    """Its tables are those of the measurements and prices that stand here."""
    text = page.PAGE.read_text(encoding="utf-8")

    assert page.written(text, RECORD) == text


def test_the_command_tells_programs_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON document, with each line of each bill."""
    assert main(["bill", "--executions", "1000000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (first, *_) = told["bills"].values()

    assert first["dollarsAMonth"] == pytest.approx(total(bill(LOAD, RECORD)), abs=0.01)
    assert len(told["others"]) == len(rivals(LOAD))
    assert [each["where"] for each in told["provisioned"]] == ["jobs", "due", "executions", "seldom"]
