"""What runs each kind of target on AWS. Must not decide anything; clients are made when a first attempt needs one."""

from collections.abc import Mapping

from tickwright.adapters.aws.clients import target_client
from tickwright.adapters.aws.timed import TimedClient
from tickwright.adapters.targets.aws_service import AwsRunner, Service
from tickwright.adapters.targets.ecs_task import ECS
from tickwright.adapters.targets.eventbridge import EVENTBRIDGE
from tickwright.adapters.targets.lambda_ import LAMBDA
from tickwright.adapters.targets.sqs import SQS
from tickwright.adapters.targets.step_functions import STEP_FUNCTIONS
from tickwright.domain.allowed_targets import AllowedTargets
from tickwright.ports.runner import Runner

SERVICES: Mapping[str, Service] = {
    "lambda": LAMBDA,
    "sqs": SQS,
    "eventbridge": EVENTBRIDGE,
    "stepFunctions": STEP_FUNCTIONS,
    "ecsTask": ECS,
}


def aws_runners(allowed: AllowedTargets, *, places: int) -> Mapping[str, Runner]:
    """A runner for each service of AWS that a job may name, for a worker with so many places."""

    def client(service: str, region: str) -> TimedClient:
        return TimedClient(target_client(service, region=region, connections=places))

    return {
        kind: AwsRunner(service, make_client=client, allowed=allowed, places=places)
        for kind, service in SERVICES.items()
    }
