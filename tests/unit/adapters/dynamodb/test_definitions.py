"""Does a process remember definitions within its bounds?"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.builders import a_definition
from tests.support.clocks import ManualClock
from tickwright.adapters.definitions import Definitions
from tickwright.domain import limits
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition

MEGABYTE = 1_000_000


def a_version(number: int, payload_chars: int = 4) -> Definition:
    definition = a_definition(version=number)
    return replace(definition, spec=replace(definition.spec, payload="x" * payload_chars))


def kept(memory: Definitions, count: int) -> list[int]:
    return [number for number in range(count) if memory.get(a_definition().job_id, number) is not None]


def test_the_definition_unused_longest_goes_first() -> None:
    """Sixteen of a megabyte are kept; the first was used again, so the second goes for the seventeenth."""
    memory = Definitions()
    for number in range(16):
        memory.keep(a_version(number, MEGABYTE))
    memory.get(a_definition().job_id, 0)

    memory.keep(a_version(16, MEGABYTE))

    assert kept(memory, 17) == [0, *range(2, 17)]


def test_the_number_of_definitions_is_bounded() -> None:
    """However small they are."""
    memory = Definitions()

    for number in range(2_001):
        memory.keep(a_version(number))

    assert kept(memory, 2_001) == list(range(1, 2_001))


def test_a_definition_that_is_kept_twice_counts_once() -> None:
    """Two coroutines that missed it at the same time both bring it."""
    memory = Definitions()

    for _ in range(40):
        memory.keep(a_version(1, MEGABYTE))
    memory.keep(a_version(2, MEGABYTE))

    assert kept(memory, 3) == [1, 2]


@pytest.mark.parametrize("passes", [ManualClock.advance, lambda clock, ms: clock.set(Instant(clock.now() + ms))])
def test_a_definition_is_remembered_for_a_while(passes: Callable[[ManualClock, int], None]) -> None:
    """By whichever clock has gone further: one stands still while a function is frozen."""
    clock = ManualClock()
    memory = Definitions(clock)
    memory.keep(a_version(1))
    passes(clock, limits.DEFINITION_KEPT_S * 1_000)
    before = kept(memory, 2)
    passes(clock, 1)
    after = kept(memory, 2)
    memory.keep(a_version(1))

    assert (before, after, kept(memory, 2)) == ([1], [], [1])


def test_a_job_that_is_no_more_is_forgotten_with_all_its_versions() -> None:
    """And makes room."""
    memory = Definitions()
    for number in range(16):
        memory.keep(a_version(number, MEGABYTE))
    other = replace(a_version(0), job_id=JobId("b" * 26))
    memory.keep(other)

    memory.forget(a_definition().job_id)

    assert kept(memory, 16) == []
    assert memory.get(other.job_id, 0) == other
