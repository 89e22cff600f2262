"""What runs each kind of target on AWS. Must not decide anything; clients are made when a first attempt needs one."""

from collections.abc import Mapping

from tickwright.adapters.aws.clients import target_client
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


def aws_runners(allowed: AllowedTargets, *, threads: int) -> Mapping[str, Runner]:
    """A runner for each service of AWS that a job may name."""

    def client(service: str, region: str, read_timeout_s: float) -> object:
        return target_client(service, region=region, read_timeout_s=read_timeout_s, connections=threads)

    return {
        kind: AwsRunner(service, make_client=client, allowed=allowed, threads=threads)
        for kind, service in SERVICES.items()
    }
