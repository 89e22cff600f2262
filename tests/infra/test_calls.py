"""Every call that the functions make is one that their roles allow: recorded from the real handlers, on a real engine.

A right that is missing would be found by the first tenant whose request needs it: no local engine checks rights.
"""

from collections.abc import Iterator

import pytest

from infra.policy.grants import GRANTS
from tests.infra.idle_rights import idle, idle_in_control
from tests.infra.recorded import Installation, recorded
from tests.infra.test_grants import meant, out_of_reach
from tests.infra.usual_days import live_a_day
from tests.infra.worse_days import live_a_worse_day
from tests.support.emulators import Emulator


@pytest.fixture
def installation(ministack: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """Tables and queues of the templates, and the handlers as Lambda would start them."""
    with recorded(ministack, monkeypatch) as made:
        yield made


def test_no_function_makes_a_call_that_its_role_forbids(installation: Installation) -> None:
    """On a day with everything in it, and on a worse one, each call of each function is granted to that function."""
    live_a_day(installation)
    live_a_worse_day(installation)

    forbidden = {function: used - meant(function) for function, used in installation.used.items()}

    assert forbidden == {function: set() for function in GRANTS}
    assert {function: out_of_reach(function, keys) for function, keys in installation.keys.items()} == forbidden
    # And none is granted that these days have not used: what would need it is a day that nobody has lived yet.
    functions = GRANTS.keys() - {"fargate"}
    unused = {function: idle(function, installation.used[function]) for function in functions}
    assert unused == {function: set() for function in functions}
    beyond = {function: idle_in_control(function, installation.keys[function]) for function in functions}
    assert beyond == {function: set() for function in functions}
