"""Does an operator hear which tenants stand again in a copy of tables?"""

import pytest

from tests.operator.conftest import STAGE
from tests.support.installation import Installation
from tickwright.operator.__main__ import UNREACHABLE, main


def deleted_since(old_stage: str) -> int:
    """The command, of this installation."""
    return main(["recovery", "deleted", "--stage", STAGE, "--old-stage", old_stage])


@pytest.mark.slow
@pytest.mark.sem("SEM-RECOVERY-1")
def test_a_stage_is_compared_with_the_one_before_it(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """With itself no tenant stands again, whoever is in it; one that is not there is named."""
    main(["keys", "make", "--stage", STAGE, "--tenant", "stands"])
    capsys.readouterr()

    itself = deleted_since(STAGE), capsys.readouterr().out
    nowhere = deleted_since("nowhere"), capsys.readouterr().err

    assert itself == (0, "")
    assert nowhere[0] == UNREACHABLE
    assert "Tickwright-nowhere-Core" in nowhere[1]
