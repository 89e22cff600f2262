"""Are hashed slots even, stable, and each job's own?"""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron, refusal
from tickwright.domain.schedules import Cron, HashIdentity
from tickwright.domain.schedules.hashing import slot

JOBS = [HashIdentity("tenant", f"job-{number}") for number in range(6_000)]
# The value that chi-square passes once in ten thousand when all is even, by degrees of freedom.
CHI_SQUARE = {59: 108.0, 27: 64.0, 23: 57.1, 11: 37.4, 6: 27.9}


def resolved(cron: str, identity: HashIdentity) -> str:
    """The expression that an identity gets."""
    kind = a_cron(cron, identity=identity).kind
    assert isinstance(kind, Cron)
    return kind.expressions[0].text


@cache
def all_hashed() -> list[str]:
    """Every job's five hashed fields, resolved once for all fields."""
    return [resolved("H H H H H", job) for job in JOBS]


@pytest.mark.sem("SEM-SCHED-12")
@pytest.mark.parametrize(("at", "low", "high"), [(0, 0, 59), (1, 0, 23), (2, 1, 28), (3, 1, 12), (4, 0, 6)])
def test_slots_are_even_over_jobs(at: int, low: int, high: int) -> None:
    """Six thousand jobs spread over a field as chance would spread them, and every slot is used."""
    counts = dict.fromkeys(range(low, high + 1), 0)
    for text in all_hashed():
        counts[int(text.split()[at])] += 1

    mean = len(JOBS) / len(counts)
    assert sum((count - mean) ** 2 / mean for count in counts.values()) < CHI_SQUARE[len(counts) - 1]
    assert min(counts.values()) > 0


@pytest.mark.slow
@pytest.mark.sem("SEM-SCHED-12")
def test_the_fields_of_one_job_are_independent() -> None:
    """Minute and hour of a job tell nothing of each other: the 1,440 pairs are evenly used."""
    pairs: dict[str, int] = {}
    for number in range(28_800):
        pair = resolved("H H * * *", HashIdentity("tenant", str(number)))
        pairs[pair] = pairs.get(pair, 0) + 1

    mean = 28_800 / 1_440
    assert sum((count - mean) ** 2 / mean for count in pairs.values()) < 1_650
    assert len(pairs) == 1_440


@pytest.mark.sem("SEM-SCHED-12")
def test_another_field_moves_nothing() -> None:
    """The minute of a job is the same whatever the other fields say; a rename is not even an input."""
    job = HashIdentity("tenant", "job")
    minutes = {resolved(cron, job).split()[0] for cron in ("H * * * *", "H H * * *", "H 5 1 * *", "H H H H H")}

    assert len(minutes) == 1


@pytest.mark.sem("SEM-SCHED-12")
def test_slots_never_change_between_releases() -> None:
    """Stored identities keep their slots for ever: these are on record."""
    assert resolved("H H * * *", HashIdentity("t1", "j1")) == "5 6 * * *"
    assert resolved("H/15 H(9-17) H * H(1-5)", HashIdentity("t1", "j1", "salt")) == "1-59/15 11 7 * 5"


@pytest.mark.sem("SEM-SCHED-12")
@given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_parts_of_an_identity_cannot_run_together(one: str, other: str, salt: str) -> None:
    """`ab`+`c` and `a`+`bc` are different jobs."""
    joined = HashIdentity(one + other, "", salt)
    apart = HashIdentity(one, other, salt)

    assert (slot(joined, "minute", 2**62) == slot(apart, "minute", 2**62)) == (other == "")


FORMS = [
    ("H * * * *", r"\d+ \* \* \* \*"),
    ("H(10-19) * * * *", r"1\d \* \* \* \*"),
    ("H/15 * * * *", r"(\d|1[0-4])-59/15 \* \* \* \*"),
    ("H(0-29)/10 * * * *", r"\d-29/10 \* \* \* \*"),
    ("H(7-7) * * * *", r"7 \* \* \* \*"),
    ("H,30 * * * *", r"\d+,30 \* \* \* \*"),
    ("h H(0-7) * * *", r"\d+ [0-7] \* \* \*"),
    ("0 0 H * *", r"0 0 (\d|1\d|2[0-8]) \* \*"),
    ("0 0 H(1-31) * *", r"0 0 ([1-9]|[12]\d|3[01]) \* \*"),
    ("0 0 * * H", r"0 0 \* \* [0-6]"),
    ("H * * * * THU", r"\d+ \* \* \* \* THU"),
    ("@daily~", r"\d+ \d+ \* \* \*"),
    ("@hourly~", r"\d+ \* \* \* \*"),
    ("@weekly~", r"\d+ \d+ \* \* [0-6]"),
    ("@monthly~", r"\d+ \d+ ([1-9]|1\d|2[0-8]) \* \*"),
    ("@yearly~", r"\d+ \d+ ([1-9]|1\d|2[0-8]) ([1-9]|1[0-2]) \*"),
    ("@midnight~", r"\d+ [0-2] \* \* \*"),
]


@pytest.mark.sem("SEM-SCHED-12")
@pytest.mark.parametrize(("cron", "pattern"), FORMS)
def test_every_form_resolves_within_its_bounds(cron: str, pattern: str) -> None:
    """The resolved expression holds plain numbers inside the bounds asked for."""
    for job in JOBS[:200]:
        assert re.fullmatch(pattern, resolved(cron, job))


@pytest.mark.sem("SEM-SCHED-4", "SEM-SCHED-12")
@pytest.mark.parametrize(
    "cron", ["HH * * * *", "H() * * * *", "H-5 * * * *", "5-H * * * *", "H#1 * * * *", "H/ * * * *"]
)
def test_malformed_hashes_are_refused(cron: str) -> None:
    """What looks like H but is not one of its forms is unreadable."""
    assert refusal({"cron": cron}) == {"/cron": "unreadable"}
