"""Which image the machines of the fleet start: one that the installation's owner names, or that of this repository.

Must not know what is in it. Docker is asked by whoever publishes, never by a synthesis: files are copied and hashed.
"""

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.context import ROOT
from infra.stage_settings import Settings

DOCKERFILE = "functions/fargate_worker/Dockerfile"
# All that the Dockerfile copies; a file that nobody listed is not sent to who builds, and changes no image.
COPIED = (
    "functions/__init__.py",
    "functions/fargate_worker",
    "layers/core/python/tickwright",
    "layers/sdk/python/tickwright_sdk",
    "layers/deps/requirements.lock",
    "requirements/aws.lock",
)


def fleet_image(scope: Construct, settings: Settings) -> ecs.ContainerImage:
    """The image of a stage."""
    named = settings.fleet.image
    if named is None:
        return ecs.ContainerImage.from_asset(
            str(ROOT),
            file=DOCKERFILE,
            platform=ecr_assets.Platform.LINUX_ARM64,
            # Docker's rules: a later line takes back an earlier one.
            exclude=["*", *(f"!{path}" for path in COPIED), "**/__pycache__"],
            ignore_mode=cdk.IgnoreMode.DOCKER,
        )
    repository = ecr.Repository.from_repository_name(scope, "Image", named.repository)
    return ecs.ContainerImage.from_ecr_repository(repository, named.digest)
