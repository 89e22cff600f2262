"""Is every write rendered as it was reviewed, with names and values that match?"""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.adapters.dynamodb.literals import all_writes
from tickwright.adapters.dynamodb import wire
from tickwright.adapters.dynamodb.expressions import queries
from tickwright.adapters.dynamodb.expressions.queries import Query, Scan
from tickwright.adapters.dynamodb.expressions.write import (
    CONSTANTS,
    Kind,
    Write,
    expression_fields,
    insert_statement,
    statement,
)

WRITES = all_writes()
KEY = {"jobId": wire.text("j"), "sk": wire.text("HEAD")}
FUNCTIONS = {"attribute_exists", "attribute_not_exists", "if_not_exists", "begins_with"}
KEYWORDS = {"SET", "REMOVE", "AND", "BETWEEN", "OR", "IN"}
EVERY_WRITE = pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))


def given_for(write: Write) -> dict[str, wire.Value]:
    """A value for each name that is asked and not known; its number says the place."""
    asked = set(re.findall(r":(\w+)", f"{write.condition} {write.update}")) - CONSTANTS.keys()
    return {name: wire.text(f"<{name}>") for name in sorted(asked)}


def test_every_write_renders_as_it_was_reviewed(snapshot: SnapshotAssertion) -> None:
    """A changed literal is seen, and read, like code: the expressions, and the twin of each that may be batched."""
    rendered = "\n".join(line for name, write in WRITES.items() for line in lines_of(name, write))

    assert rendered == snapshot


def lines_of(name: str, write: Write) -> list[str]:
    """A write as text; values stand as their names in angle brackets, constants as they are."""
    fields = expression_fields(write, given_for(write))
    lines = [f"{name}: {write.says}", f"  {write.kind.value} if {fields['ConditionExpression']}"]
    if write.kind is Kind.UPDATE:
        lines.append(f"  {fields['UpdateExpression']}")
    if write.kind is Kind.UPDATE and write.batched:
        made = statement(write, "T", KEY, given_for(write))
        values = ", ".join(str(value) for one in made["Parameters"] for value in one.values())  # type: ignore[attr-defined]
        lines.append(f"  {made['Statement']} [{values}]")
    return lines


@EVERY_WRITE
def test_every_place_of_a_statement_has_its_value(write: Write) -> None:
    """As many question marks as parameters: a shift by one would write one attribute's value into another."""
    if not write.batched or write.kind is not Kind.UPDATE:
        with pytest.raises(AssertionError):
            statement(write, "T", KEY, given_for(write))
        return

    made = statement(write, "T", KEY, given_for(write))

    text, parameters = str(made["Statement"]), made["Parameters"]
    assert isinstance(parameters, list)
    assert text.count("?") == len(parameters)
    places = re.findall(r'"(\w+)" (?:[=<>]+|IN) ', text)
    assert KEY.keys() <= set(places)
    assert "#" not in text
    assert ":" not in text


def test_an_insert_names_each_attribute_once() -> None:
    """In the order of its values."""
    made = insert_statement("T", {"jobId": wire.text("j"), "n": wire.number(1)})

    assert made == {
        "Statement": """INSERT INTO "T" VALUE {'jobId': ?, 'n': ?}""",
        "Parameters": [{"S": "j"}, {"N": "1"}],
    }


@EVERY_WRITE
def test_a_value_too_few_or_too_many_is_refused(write: Write) -> None:
    """What is asked and what is given must match exactly: a forgotten value is a bug here, not a fault there."""
    given = given_for(write)

    with pytest.raises(AssertionError, match="asked"):
        expression_fields(write, given | {"surplus": wire.text("x")})
    for name in given:
        with pytest.raises(AssertionError, match="asked"):
            expression_fields(write, {other: value for other, value in given.items() if other != name})


@EVERY_WRITE
def test_no_attribute_is_named_bare(write: Write) -> None:
    """Every name has its #, so that no reserved word (status, owner, ttl, key, ...) can ever be one."""
    text = f"{write.condition} {write.update}"

    bare = set(re.findall(r"(?<![#:\w])[A-Za-z_]\w*", text))

    assert bare <= FUNCTIONS | KEYWORDS


@pytest.mark.parametrize(
    "query", [value for value in vars(queries).values() if isinstance(value, Query)], ids=lambda query: query.says
)
def test_no_key_of_a_query_is_named_bare(query: Query) -> None:
    """Moto lets reserved words pass in a key condition; DynamoDB does not."""
    assert set(re.findall(r"(?<![#:\w])[A-Za-z_]\w*", query.condition)) <= FUNCTIONS | KEYWORDS


@pytest.mark.parametrize(
    "scan", [value for value in vars(queries).values() if isinstance(value, Scan)], ids=lambda scan: scan.says
)
def test_no_attribute_of_a_scan_is_named_bare(scan: Scan) -> None:
    """Neither in what is sent nor in what is shown of it."""
    assert set(re.findall(r"(?<![#:\w])[A-Za-z_]\w*", f"{scan.sent} {scan.shown}")) <= FUNCTIONS | KEYWORDS


@EVERY_WRITE
def test_every_write_says_why_it_is_safe(write: Write) -> None:
    """One sentence."""
    assert write.says.endswith(".")
    assert write.condition.strip()
