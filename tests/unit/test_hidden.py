"""Does a pointer hide in each version up to the last that names it, and in none after?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_definition
from tickwright.domain.hidden import ever_named, hidden_in, named_up_to
from tickwright.domain.jobs import Definition

pytestmark = pytest.mark.sem("SEM-SECRET-2")

POINTERS = ("/payload/a", "/payload/b", "/payload/c")


def written(*named: tuple[str, ...]) -> Definition:
    """The newest of versions that name so, each written after the one before."""
    newest = replace(a_definition(), version=1, spec=replace(a_definition().spec, secrets=named[0]))
    for secrets in named[1:]:
        spec = replace(newest.spec, secrets=secrets)
        newest = replace(newest, version=newest.version + 1, spec=spec, named_before=named_up_to(newest))
    return newest


def test_what_a_version_in_between_names_is_hidden_before_it_and_not_after() -> None:
    """The second version names it; the first has its value, the third has another that nobody calls secret."""
    newest = written((), ("/payload/a",), ())

    assert [hidden_in(version, newest) for version in (1, 2, 3)] == [("/payload/a",), ("/payload/a",), ()]
    assert ever_named(newest) == ("/payload/a",)


@given(st.lists(st.sets(st.sampled_from(POINTERS)), min_size=1, max_size=6))
def test_the_newest_version_tells_of_all(named: list[set[str]]) -> None:
    """As if every version were read."""
    newest = written(*(tuple(sorted(some)) for some in named))

    for version in range(1, len(named) + 1):
        assert set(hidden_in(version, newest)) == set().union(*named[version - 1 :])
    assert set(ever_named(newest)) == set().union(*named)
