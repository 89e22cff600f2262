"""What a stack of CloudFormation says of itself: one of its outputs, with the caller's own credentials.

Must not know what the output is for. Whatever is wrong (no credentials, no region, no stack, no such output) is one
fault, whose message can be shown. A person waits for the answer, so the SDK may try again.
"""

from dataclasses import dataclass
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tickwright.adapters.aws.clients import new_session

PATIENCE = Config(connect_timeout=5.0, read_timeout=20.0, retries={"total_max_attempts": 3, "mode": "standard"})
# CloudFormation has no code of its own for it.
_NONE = "does not exist"


class StackUnreadable(Exception):  # noqa: N818 - says what happened to it
    """The output was not read; the message says why."""


class StackMissing(StackUnreadable):
    """There is no such stack for these credentials in this Region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One output of a stack, and where that stack is."""

    value: str
    account: str
    region: str


def output_of(stack: str, output: str) -> Output:
    """One output of a stack; raises StackUnreadable."""
    region = None
    try:
        client: Any = new_session().create_client("cloudformation", config=PATIENCE)
        region = client.meta.region_name
        (found,) = client.describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as fault:
        if _NONE in str(fault):
            raise StackMissing(f"these credentials have no stack {stack} in {region}") from fault
        raise StackUnreadable(f"the stack {stack} was not read: {fault}") from fault
    values = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    if output not in values:
        raise StackUnreadable(f"the stack {stack} has no output {output}: deploy this version of it")
    *_, region, account, _ = found["StackId"].split(":", 5)
    return Output(value=str(values[output]), account=account, region=region)
