"""Tables that are provisioned: which of them, with what for each index, and that nobody gets it who has not asked."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from infra.context import ROOT
from infra.policy.checks import TABLE
from infra.policy.templates import Templates
from infra.required import SettingRefused
from infra.settings import STAGES
from infra.table_settings import Capacity, Provisioned, TableSettings, Units, WarmThroughput
from tests.infra.conftest import Synthesise
from tools.cost import measured, sizing
from tools.cost.load import Load
from tools.cost.tables import SMALL

DEV, PROD = STAGES["dev"], STAGES["prod"]


def capacity(number: int) -> Capacity:
    """One that is told from the others by its numbers."""
    return Capacity(reads=Units(least=number, most=10 * number), writes=Units(least=2 * number, most=20 * number))


PROVISIONED = Provisioned(
    jobs=capacity(100), due=capacity(200), executions=capacity(300), seldom=capacity(5), used_percent=60
)
TABLES = TableSettings(retained=True, recovery_days=35)
WARM = WarmThroughput(read_units=12_000, write_units=4_000)
# What of a table says how much it serves; an update changes it in place.
THROUGHPUT = {
    "BillingMode",
    "ReadOnDemandThroughputSettings",
    "ReadProvisionedThroughputSettings",
    "WriteOnDemandThroughputSettings",
    "WriteProvisionedThroughputSettings",
}


@pytest.fixture(scope="module")
def provisioned(synthesise: Synthesise) -> Templates:
    """The stage dev, whose tables on demand have maxima, with tables that are provisioned."""
    return synthesise(replace(DEV, tables=replace(DEV.tables, provisioned=PROVISIONED)))


def tables_of(templates: Templates) -> Mapping[str, Mapping[str, Any]]:
    """The properties of every table, by its logical id."""
    return {address.logical_id: table["Properties"] for address, table in templates.of_type(TABLE)}


def scaled(given: Mapping[str, Any], kind: str) -> tuple[int, int, int, int]:
    """From where to where reads or writes are scaled, where they begin, and how full they are to be."""
    settings = given[f"{kind}ProvisionedThroughputSettings"][f"{kind}CapacityAutoScalingSettings"]
    target = settings["TargetTrackingScalingPolicyConfiguration"]["TargetValue"]
    return settings["MinCapacity"], settings["MaxCapacity"], settings["SeedCapacity"], target


def served(table: Mapping[str, Any]) -> Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Reads and writes of a table, under an empty name, and of its indexes: reads are said of the one Region's copy."""
    (replica,) = table["Replicas"]
    reads = {"": replica} | {each["IndexName"]: each for each in replica["GlobalSecondaryIndexes"]}
    writes = {"": table} | {each["IndexName"]: each for each in table["GlobalSecondaryIndexes"]}
    return {name: (scaled(reads[name], "Read"), scaled(writes[name], "Write")) for name in writes}


def expected(number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of what `capacity` made."""
    return (number, 10 * number, number, 60), (2 * number, 20 * number, 2 * number, 60)


# --- what is deployed ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_on_demand_unless_it_says_otherwise(stages: Mapping[str, Templates], stage: str) -> None:
    """It costs nothing while nothing runs, and needs nobody who knows how much will."""
    modes = {table["BillingMode"] for table in tables_of(stages[stage]).values()}

    assert modes == {"PAY_PER_REQUEST"}
    assert "Provisioned" not in json.dumps(tables_of(stages[stage]))


def test_what_takes_the_writes_of_each_execution_is_provisioned(provisioned: Templates) -> None:
    """The other two take a few in a hundred units, and bursts of callers."""
    modes = {name: table["BillingMode"] for name, table in tables_of(provisioned).items()}

    assert modes == {
        "Jobs": "PROVISIONED",
        "Executions": "PROVISIONED",
        "Journal": "PAY_PER_REQUEST",
        "Control": "PAY_PER_REQUEST",
    }


def test_each_index_is_scaled_by_itself(provisioned: Templates) -> None:
    """One that cannot keep up refuses the writes of its table; one that is seldom written is not paid for as it is."""
    tables = tables_of(provisioned)

    assert served(tables["Jobs"]) == {"": expected(100), "due": expected(200), "tenant": expected(5)}
    assert served(tables["Executions"]) == {"": expected(300), "waiting": expected(5), "attention": expected(5)}


def test_maxima_hold_for_what_is_on_demand(provisioned: Templates) -> None:
    """DynamoDB refuses them on a table that is provisioned, which has maxima of its own."""
    bounded = {name for name, table in tables_of(provisioned).items() if "OnDemandThroughput" in json.dumps(table)}

    assert bounded == {"Journal", "Control"}


def test_to_provision_a_table_replaces_nothing(provisioned: Templates, dev: Templates) -> None:
    """It has all jobs in it."""
    without = [
        json.loads(json.dumps(tables_of(templates)), object_hook=_without_throughput)
        for templates in (provisioned, dev)
    ]

    assert without[0] == without[1]


def _without_throughput(found: dict[str, Any]) -> dict[str, Any]:
    """What else there is; an index that has nothing but its name left says only how much it serves."""
    kept = {name: value for name, value in found.items() if name not in THROUGHPUT}
    indexes = [each for each in kept.get("GlobalSecondaryIndexes", ()) if set(each) != {"IndexName"}]
    kept.pop("GlobalSecondaryIndexes", None)
    return kept | ({"GlobalSecondaryIndexes": indexes} if indexes else {})


def test_warm_throughput_goes_with_it(synthesise: Synthesise) -> None:
    """It says how soon more is there, and capacity how much is paid for."""
    templates = synthesise(replace(PROD, tables=replace(PROD.tables, provisioned=PROVISIONED, warm=WARM)))

    warm = {name for name, table in tables_of(templates).items() if "WarmThroughput" in table}
    assert warm == {"Jobs", "Executions"}


# --- what is refused ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda: Units(least=0, most=5), "Units.least is 0: from 1 to most, which is 5"),
        (lambda: Units(least=6, most=5), "Units.least is 6: from 1 to most, which is 5"),
        (lambda: replace(PROVISIONED, used_percent=19), "Provisioned.used_percent is 19: from 20 to 90"),
        (lambda: replace(PROVISIONED, used_percent=91), "Provisioned.used_percent is 91: from 20 to 90"),
        (
            lambda: replace(TABLES, warm=WARM, provisioned=replace(PROVISIONED, due=capacity(2_001))),
            "TableSettings.warm.write_units is 4000: 4002 or more, as provisioned.due.writes.least is",
        ),
        (
            lambda: replace(
                TABLES,
                warm=WARM,
                provisioned=replace(
                    PROVISIONED, jobs=replace(PROVISIONED.jobs, reads=Units(least=12_001, most=12_001))
                ),
            ),
            "TableSettings.warm.read_units is 12000: 12001 or more, as provisioned.jobs.reads.least is",
        ),
    ],
)
def test_capacity_that_aws_would_refuse_is_refused_first(
    change: Callable[[], object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the setting, its value and what it may be."""
    with pytest.raises(SettingRefused):
        change()

    assert capsys.readouterr().err == f"{told}\n"


def test_a_maximum_of_what_is_on_demand_may_be_below_what_is_warm(synthesise: Synthesise) -> None:
    """Where tables are provisioned, none of those that are warm has that maximum."""
    bounded = replace(TABLES, warm=WARM, provisioned=PROVISIONED, write_units_max=1_000)

    templates = synthesise(replace(PROD, tables=bounded))

    assert '"MaxWriteRequestUnits": 1000' in json.dumps(tables_of(templates)["Control"])


# --- the page -----------------------------------------------------------------------------------------------------
PAGE = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_carries_the_load_above_it() -> None:
    """As it would be pasted: its average lies between what is there at night and what is by day."""
    (block,) = re.findall(r"```python\nprovisioned = (.*?)\n```", PAGE, re.DOTALL)
    names = {each.__name__: each for each in (Provisioned, Capacity, Units)}
    example = eval(block, names)  # noqa: S307 - the lines of the page

    for taken in sizing.taken(Load(executions_a_day=SMALL), measured.read()):
        given = getattr(example, taken.where)
        assert given.writes.least < taken.write_units < given.writes.most
        assert given.reads.least < taken.read_units < given.reads.most
