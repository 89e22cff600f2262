"""Builds the CDK app of one stage: `python app.py` and `cdk synth` give the same templates.

The variable TICKWRIGHT_STAGE names the stage (dev, staging, prod, local). Must not know what the stacks hold.
"""

import os

from infra.app import build_app
from infra.context import context_of_cdk_json
from infra.settings import settings_of

settings = settings_of(os.environ.get("TICKWRIGHT_STAGE", "dev"))
# Without the CDK's command-line tool there is no CDK_OUTDIR, and the assembly goes where that tool would have put it.
build_app(settings, context=context_of_cdk_json(), outdir=os.environ.get("CDK_OUTDIR", "cdk.out")).synth()
