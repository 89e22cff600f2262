"""Which stacks an installation has and in which order they stand on each other.

Pure: reads no file, no variable and no account, so the command, the gate and every test build the same app.
"""

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk

from infra.policy.acknowledgements import acknowledge
from infra.stacks.api import ApiStack
from infra.stacks.core import CoreStack
from infra.stacks.data import DataStack
from infra.stacks.observability import ObservabilityStack
from infra.stacks.workers import WorkersStack
from infra.stage_settings import Settings

STACKS = ("Data", "Core", "Api", "Workers", "Observability")


def build_app(
    settings: Settings, *, context: Mapping[str, Any], outdir: str | None = None, silenced: bool = True
) -> cdk.App:
    """The app of one stage, for any account and region; not silenced, the findings that are meant to be show too."""
    # Without the metadata resource `python app.py` and `cdk synth` give the same templates.
    app = cdk.App(context=dict(context), outdir=outdir, analytics_reporting=False)
    prefix = f"Tickwright-{settings.stage}"
    data = DataStack(app, f"{prefix}-Data", settings=settings)
    core = CoreStack(app, f"{prefix}-Core", settings=settings, data=data)
    workers = WorkersStack(app, f"{prefix}-Workers", settings=settings, parts=core.parts)
    # The API says where the workers' logs are.
    api = ApiStack(app, f"{prefix}-Api", settings=settings, parts=core.parts, log_groups=workers.log_groups)
    observability = ObservabilityStack(
        app, f"{prefix}-Observability", settings=settings, data=data, core=core, workers=workers, api=api
    )
    stacks = dict(zip(STACKS, (data, core, api, workers, observability), strict=True))
    for stack in stacks.values():
        cdk.Tags.of(stack).add("tickwright:stage", settings.stage)
    if silenced:
        acknowledge(stacks, stage=settings.stage)
    return app
