"""What a stack of CloudFormation says of itself: one of its outputs.

Must not know what the output is for. Whatever is wrong (no credentials, no region, no stack, no such output) is one
fault, whose message can be shown.
"""

from botocore.exceptions import BotoCoreError, ClientError

from tickwright.adapters.aws.clients import cloudformation_client


class StackUnreadable(Exception):  # noqa: N818 - says what happened to it
    """The output was not read; the message says why."""


def output_of(stack: str, output: str, *, region: str | None = None) -> str:
    """One output of a stack; raises StackUnreadable."""
    try:
        (found,) = cloudformation_client(region=region).describe_stacks(StackName=stack)["Stacks"]
    except (ClientError, BotoCoreError) as fault:
        raise StackUnreadable(f"the stack {stack} was not read: {fault}") from fault
    values = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    if output not in values:
        raise StackUnreadable(f"the stack {stack} has no output {output}: deploy this version of it")
    return str(values[output])
