"""The target kind `stepFunctions`: starts an execution of a state machine.

Must not know leases. The name is the same for every try, so that one whose answer was lost is found to have been
started and is not started again; an EXPRESS machine does not tell names apart. Promise: SEM-TARGET-10.
"""

import hashlib
from typing import Final

from botocore.exceptions import ClientError

from tickwright.adapters.aws.faults import code_of
from tickwright.adapters.targets.aws_faults import Faults
from tickwright.adapters.targets.aws_service import Call, Service, once_key, taken
from tickwright.adapters.targets.envelope import body_of
from tickwright.domain.attempts import UserResult
from tickwright.ports.runner import Invocation

_FAULTS: Final = Faults(
    not_run=frozenset({"ExecutionLimitExceeded", "KmsThrottlingException"}),
)
_NAME_CHARS_MAX: Final = 80
# What a name may hold and a log group shows; the form can be read back.
_NAMEABLE: Final = str.maketrans({".": "_", "~": "-"})


def _send(call: Call, invocation: Invocation) -> UserResult:
    machine = str(invocation.definition.spec.target.settings["stateMachineArn"])
    name = name_of(once_key(invocation))
    request = {"stateMachineArn": machine, "name": name, "input": body_of(invocation).decode()}
    try:
        arn = str(call("start_execution", request)["executionArn"])
    except ClientError as error:
        if code_of(error) != "ExecutionAlreadyExists":
            raise
        # Nobody else names one so: an earlier try of ours has started it.
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
    return taken(invocation, {"executionArn": arn})


def name_of(key: str) -> str:
    """A name that Step Functions takes; one that is too long becomes a hash."""
    name = key.translate(_NAMEABLE)
    return name if len(name) <= _NAME_CHARS_MAX else hashlib.sha256(key.encode()).hexdigest()


STEP_FUNCTIONS: Final = Service(name="stepfunctions", faults=_FAULTS, send=_send)
