"""What a stack of CloudFormation says of itself: one of its outputs, with the caller's own credentials.

Must not know what the output is for. Whatever is wrong (no credentials, no region, no stack, no such output) is one
fault, whose message can be shown. A person waits for the answer, so the SDK may try again.
"""

from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

_PATIENCE = Config(connect_timeout=5.0, read_timeout=20.0, retries={"total_max_attempts": 3, "mode": "standard"})


class StackUnreadable(Exception):  # noqa: N818 - says what happened to it
    """The output was not read; the message says why."""


def output_of(stack: str, output: str) -> str:
    """One output of a stack; raises StackUnreadable."""
    try:
        client: Any = get_session().create_client("cloudformation", config=_PATIENCE)
        (found,) = client.describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as fault:
        raise StackUnreadable(f"the stack {stack} was not read: {fault}") from fault
    values = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    if output not in values:
        raise StackUnreadable(f"the stack {stack} has no output {output}: deploy this version of it")
    return str(values[output])
