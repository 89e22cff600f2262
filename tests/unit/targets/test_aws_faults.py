"""Does each error of a service end an attempt as it should: not run, failed for now, or for good?"""

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ParamValidationError, ReadTimeoutError

from tests.unit.targets.invocations import an_invocation
from tickwright.adapters.targets.aws_faults import Faults, result_of_fault
from tickwright.adapters.targets.aws_service import Service
from tickwright.adapters.targets.ecs_task import ECS
from tickwright.adapters.targets.eventbridge import EVENTBRIDGE
from tickwright.adapters.targets.lambda_ import LAMBDA
from tickwright.adapters.targets.sqs import SQS
from tickwright.adapters.targets.step_functions import STEP_FUNCTIONS
from tickwright.domain.attempts import Failure, Fatal, NotRun, UserResult
from tickwright.domain.jobs import Target

INVOCATION = an_invocation(Target(kind="sqs", settings={}))
SERVICES = [LAMBDA, SQS, EVENTBRIDGE, STEP_FUNCTIONS, ECS]


def result_of(code: str, status: int, faults: Faults) -> UserResult:
    answer = {"Error": {"Code": code, "Message": "so it is"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return result_of_fault(ClientError(answer, "Operation"), faults, INVOCATION)  # type: ignore[arg-type] # as it comes


@pytest.mark.sem("SEM-TARGET-6")
@pytest.mark.parametrize(
    ("service", "code", "status"),
    [
        (LAMBDA, "TooManyRequestsException", 429),
        (LAMBDA, "EC2ThrottledException", 502),
        (SQS, "RequestThrottled", 403),
        (SQS, "KmsThrottled", 400),
        (SQS, "OverLimit", 403),
        (EVENTBRIDGE, "ThrottlingException", 400),
        (STEP_FUNCTIONS, "ExecutionLimitExceeded", 400),
        (STEP_FUNCTIONS, "KmsThrottlingException", 400),
        (STEP_FUNCTIONS, "ThrottlingException", 400),
        (ECS, "ThrottlingException", 400),
    ],
)
def test_a_throttle_means_that_nothing_was_done(service: Service, code: str, status: int) -> None:
    """The claim goes back and no attempt is counted."""
    assert isinstance(result_of(code, status, service.faults), NotRun)


@pytest.mark.sem("SEM-TARGET-6")
@pytest.mark.parametrize(
    ("service", "code", "status"),
    [
        (LAMBDA, "ServiceException", 500),
        (LAMBDA, "ENINotReadyException", 502),
        (LAMBDA, "ENILimitReachedException", 502),
        (LAMBDA, "SubnetIPAddressLimitReachedException", 502),
        (LAMBDA, "ResourceConflictException", 409),
        (LAMBDA, "SnapStartNotReadyException", 409),
        (LAMBDA, "EFSMountTimeoutException", 408),
        (LAMBDA, "EFSIOException", 410),
        (EVENTBRIDGE, "InternalException", 500),
        (EVENTBRIDGE, "InternalFailure", 200),
        (ECS, "ServerException", 500),
        (SQS, "ServiceUnavailable", 503),
        (SQS, "ExpiredToken", 403),
        (SQS, "RequestExpired", 400),
        (STEP_FUNCTIONS, "NoNameYetException", 503),
    ],
)
def test_what_passes_is_a_failure_that_counts(service: Service, code: str, status: int) -> None:
    """It may have been done."""
    assert isinstance(result_of(code, status, service.faults), Failure)


@pytest.mark.sem("SEM-TARGET-6")
@pytest.mark.parametrize(
    ("service", "code", "status"),
    [
        (LAMBDA, "ResourceNotFoundException", 404),
        (LAMBDA, "KMSAccessDeniedException", 502),
        (LAMBDA, "InvalidRuntimeException", 502),
        (LAMBDA, "RequestTooLargeException", 413),
        (LAMBDA, "ServiceQuotaExceededException", 402),
        (SQS, "AWS.SimpleQueueService.NonExistentQueue", 400),
        (SQS, "InvalidMessageContents", 400),
        (SQS, "KmsAccessDenied", 400),
        (EVENTBRIDGE, "MalformedDetail", 200),
        (STEP_FUNCTIONS, "StateMachineDoesNotExist", 400),
        (STEP_FUNCTIONS, "StateMachineDeleting", 400),
        (STEP_FUNCTIONS, "InvalidExecutionInput", 400),
        (ECS, "ClusterNotFoundException", 400),
        (ECS, "AccessDeniedException", 400),
        (ECS, "NoNameYetException", 400),
    ],
)
def test_what_no_other_try_mends_is_fatal(service: Service, code: str, status: int) -> None:
    """A missing resource, a missing right, a wrong request; the class and the words are kept."""
    result = result_of(code, status, service.faults)

    assert isinstance(result, Fatal)
    assert result.error.error_class == code
    assert "so it is" in result.error.message


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_an_answer_that_never_came_counts(service: Service) -> None:
    """The function may have run, the message may have been sent."""
    error = ReadTimeoutError(endpoint_url="https://sqs.example", error="timed out")

    assert isinstance(result_of_fault(error, service.faults, INVOCATION), Failure)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_a_worker_that_has_lost_its_credentials_runs_nothing(service: Service) -> None:
    """That is no fault of the job, and costs it no attempt."""
    assert isinstance(result_of_fault(NoCredentialsError(), service.faults, INVOCATION), NotRun)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_a_request_that_the_client_refuses_is_fatal(service: Service) -> None:
    """It never left."""
    assert isinstance(result_of_fault(ParamValidationError(report="too long"), service.faults, INVOCATION), Fatal)


def test_no_code_is_named_twice() -> None:
    """A code that meant two things would mean whichever is asked about first."""
    for service in SERVICES:
        faults = service.faults
        assert not faults.not_run & faults.passing
        assert not faults.not_run & faults.fatal
        assert not faults.passing & faults.fatal


def test_what_a_throttle_asks_for_is_waited_for() -> None:
    """Lambda says so in its answer, as text."""
    answer = {
        "Error": {"Code": "TooManyRequestsException", "Message": ""},
        "ResponseMetadata": {"HTTPStatusCode": 429},
        "retryAfterSeconds": "300",
    }

    result = result_of_fault(ClientError(answer, "Invoke"), LAMBDA.faults, INVOCATION)  # type: ignore[arg-type] # as it comes

    assert isinstance(result, NotRun)
    assert 300 <= result.after_s <= 320
