"""The app that is deployed: the stage `local`, with the one function of the tests that the tenant may call.

Settings alone; must not change a stack. The CDK command line starts it, in this tree or in the next version's.
"""

import os
from dataclasses import replace
from types import MappingProxyType

from infra.app import build_app
from infra.context import context_of_cdk_json
from infra.lane_settings import LANES, MAPPING_CONCURRENCY_MIN
from infra.settings import Settings, settings_of

STAGE = "local"
TENANT = "acme"
REGION, ACCOUNT = "us-east-1", "000000000000"
FUNCTION = "deploy-target"
FUNCTION_ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{FUNCTION}"


def settings() -> Settings:
    """Of the stage, with what this installation's owner decides: which resources are whose, and how much may go on.

    Each invocation at a time is a process here: as few as a mapping has.
    """
    return replace(
        settings_of(STAGE),
        targets=MappingProxyType({TENANT: (FUNCTION_ARN,)}),
        lane_concurrency=MappingProxyType(dict.fromkeys(LANES, MAPPING_CONCURRENCY_MIN)),
    )


if __name__ == "__main__":
    build_app(settings(), context=context_of_cdk_json(), outdir=os.environ["CDK_OUTDIR"]).synth()
