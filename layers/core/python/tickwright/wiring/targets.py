"""What runs each kind of target on AWS; apart from aws.py, for only workers need it.

Must not decide anything. Clients are made when a first attempt needs one.
"""

from collections.abc import Mapping

from tickwright.adapters.aws.clients import target_client
from tickwright.adapters.aws.timed import TimedClient
from tickwright.adapters.targets.aws_service import AwsRunner, Service
from tickwright.adapters.targets.ecs_task import ECS
from tickwright.adapters.targets.eventbridge import EVENTBRIDGE
from tickwright.adapters.targets.http import HttpRunner
from tickwright.adapters.targets.lambda_ import LAMBDA
from tickwright.adapters.targets.sqs import SQS
from tickwright.adapters.targets.step_functions import STEP_FUNCTIONS
from tickwright.domain.allowed_targets import AllowedTargets
from tickwright.ports.runner import Runner
from tickwright.services.kit import Kit
from tickwright.services.webhook_secrets import SecretsInUse
from tickwright.settings import from_environment

SERVICES: Mapping[str, Service] = {
    "lambda": LAMBDA,
    "sqs": SQS,
    "eventbridge": EVENTBRIDGE,
    "stepFunctions": STEP_FUNCTIONS,
    "ecsTask": ECS,
}


def runners_from_env(environ: Mapping[str, str], kit: Kit, *, places: int) -> Mapping[str, Runner]:
    """What a worker on AWS runs. Private addresses are refused: tenants choose the URLs.

    `places`: how many runs at a time the worker takes, in all its lanes.
    """
    settings = from_environment(environ)
    secrets = SecretsInUse(kit=kit, key=settings.webhook_key)
    http = HttpRunner(allow_private=False, secrets_of=secrets.of, places=places)
    return {"http": http, **aws_runners(settings.targets, places=places)}


def aws_runners(allowed: AllowedTargets, *, places: int) -> Mapping[str, Runner]:
    """A runner for each service of AWS that a job may name, for a worker with so many places."""

    def client(service: str, region: str) -> TimedClient:
        return TimedClient(target_client(service, region=region, connections=places))

    return {
        kind: AwsRunner(service, make_client=client, allowed=allowed, places=places)
        for kind, service in SERVICES.items()
    }
