"""Which layers a function stands on: third-party packages and the product's own library.

One pair per stack, from the same assets: a layer version is replaced whenever its content changes, and CloudFormation
refuses to replace what another stack imports.
"""

from typing import Self

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundling.core_layer import core_code
from infra.bundling.deps_layer import deps_code
from infra.stage_settings import Settings

# What infra/packaging_settings.py says of Lambda, as CDK calls it.
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64


class RuntimeLayers(Construct):
    """The two layers of one stack."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        # Old versions are what a rollback goes back to.
        removal = cdk.RemovalPolicy.RETAIN if settings.tables.retained else cdk.RemovalPolicy.DESTROY
        self.versions: list[lambda_.ILayerVersion] = [
            lambda_.LayerVersion(
                self,
                construct_id_of_layer,
                description=description,
                code=code,
                compatible_runtimes=[RUNTIME],
                compatible_architectures=[ARCHITECTURE],
                removal_policy=removal,
            )
            for construct_id_of_layer, description, code in (
                ("Deps", "Third-party packages of Tickwright, locked by hash", deps_code(settings.packaging)),
                ("Core", "The library of Tickwright", core_code(settings.packaging)),
            )
        ]

    @classmethod
    def of(cls, stack: cdk.Stack, *, settings: Settings) -> Self:
        """The layers of a stack, made when the first function asks for them."""
        made = stack.node.try_find_child("Layers")
        if made is None:
            return cls(stack, "Layers", settings=settings)
        assert isinstance(made, cls)
        return made
