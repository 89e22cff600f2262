"""The synthesised app of each stage: built once for this folder, without packaging and CDK's own validation.

`make gate` runs both, in a process of its own: they would add ten seconds and 350 MB here.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from infra.app import build_app
from infra.context import context_of_cdk_json
from infra.gate import read
from infra.policy.everything import EVERYTHING
from infra.policy.templates import Templates
from infra.settings import STAGES, Settings

Synthesise = Callable[[Settings], Templates]


@pytest.fixture(scope="session")
def synthesise(tmp_path_factory: pytest.TempPathFactory) -> Synthesise:
    """Synthesise any settings into a folder of their own."""

    def synthesised(settings: Settings) -> Templates:
        outdir: Path = tmp_path_factory.mktemp(settings.stage)
        build_app(settings, context=context_of_cdk_json(packaging=False), outdir=str(outdir)).synth()
        return read(outdir)

    return synthesised


@pytest.fixture(scope="session")
def stages(synthesise: Synthesise) -> Mapping[str, Templates]:
    """The templates of every stage, by its name."""
    return {name: synthesise(settings) for name, settings in STAGES.items()}


@pytest.fixture(scope="session")
def everything(synthesise: Synthesise) -> Templates:
    """The templates of a stage that has every option on."""
    return synthesise(EVERYTHING)


@pytest.fixture(scope="session")
def dev(stages: Mapping[str, Templates]) -> Templates:
    """The templates of the stage that may be torn down."""
    return stages["dev"]


@pytest.fixture(scope="session")
def prod(stages: Mapping[str, Templates]) -> Templates:
    """The templates of the stage that people rely on."""
    return stages["prod"]
