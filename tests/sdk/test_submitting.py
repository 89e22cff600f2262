"""The name of a call that is submitted under a key is one that the API takes, and its key's alone."""

import re

import pytest

from tickwright_sdk.submitting import name_of

TAKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")  # as the API says in its refusal


@pytest.mark.sem("SEM-SDK-10")
@pytest.mark.parametrize("key", ["a1-2026-11", "a1 2026", "Grüße", "", "x" * 255, "../..", "\n"])
@pytest.mark.parametrize("handler", ["billing.nightly", "h" * 128])
def test_every_key_makes_a_name(handler: str, key: str) -> None:
    """A key is any text, a name is not."""
    assert TAKEN.fullmatch(name_of(handler, key))


def test_two_keys_make_two_names() -> None:
    """Also where only their hashes tell them apart, and where a name would look like another's hash."""
    keys = ["a", "b", "a b", "a  b", "ä", "ae", "x" * 200, "x" * 201]

    assert len({name_of("billing.nightly", key) for key in keys}) == len(keys)
    assert name_of("billing.nightly", "a1-2026-11") == "billing.nightly/a1-2026-11"
