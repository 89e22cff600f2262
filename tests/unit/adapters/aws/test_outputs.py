"""Is it said what keeps a stack from being read, and is no stack that was not looked at called missing?"""

import pytest

from tickwright.adapters.aws.outputs import StackMissing, StackUnreadable, output_of


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "Unable to locate credentials"),
        (("AWS_REGION", "AWS_DEFAULT_REGION"), "You must specify a region"),
    ],
)
def test_whoever_could_not_ask_is_not_told_that_there_is_nothing(
    lacking: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without credentials nobody knows which stacks there are."""
    for name in lacking:
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(StackUnreadable, match=said) as fault:
        output_of("Tickwright-dev-Core", "Environment")

    assert not isinstance(fault.value, StackMissing)
