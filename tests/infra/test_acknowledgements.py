"""The table of acknowledged findings: complete, reasoned, and not a row too many."""

from pathlib import Path

import pytest

from infra import gate
from infra.context import context_of_cdk_json
from infra.policy.acknowledgements import ACKNOWLEDGED
from infra.policy.everything import EVERYTHING
from infra.settings import STAGES, Settings


def test_every_acknowledgement_has_a_reason_worth_reading() -> None:
    """A reason is a sentence that somebody could disagree with."""
    assert [row.rules for row in ACKNOWLEDGED if len(row.reason.split()) < 5] == []
    assert [row.rules for row in ACKNOWLEDGED if not row.reason.endswith(".")] == []


def test_no_construct_is_acknowledged_twice_for_one_rule() -> None:
    """Two reasons for one silence: one of them is wrong."""
    silences = [(rule, place) for row in ACKNOWLEDGED for rule in row.rules for place in row.where]

    assert len(silences) == len(set(silences))


@pytest.mark.parametrize("settings", [STAGES["dev"], STAGES["prod"], EVERYTHING], ids=lambda settings: settings.stage)
def test_the_packs_find_nothing_that_is_not_acknowledged(tmp_path: Path, settings: Settings) -> None:
    """AwsSolutions and Serverless, on the smallest stage, on the one people rely on, and with every option on."""
    context = context_of_cdk_json(packaging=False)

    assert gate.synthesise(settings, context=context, outdir=tmp_path) == []


def test_without_the_table_the_packs_do_find_something(tmp_path: Path) -> None:
    """So the silence above is the table's doing, and every row of it silences something."""
    silenced, stale = gate.acknowledged(outdir=tmp_path)

    assert silenced > 0
    assert stale == []
