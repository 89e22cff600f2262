"""Who calls AWS: the ARN of the caller's own credentials, which nobody needs a right to ask for.

Must not know what it is for.
"""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tickwright.adapters.aws.clients import new_session
from tickwright.adapters.aws.outputs import PATIENCE


class CallerUnknown(Exception):  # noqa: N818 - says what happened
    """STS did not say; the message says why."""


def caller_arn() -> str:
    """Of a user, or of a session of a role with its name; raises CallerUnknown."""
    try:
        client: Any = new_session().create_client("sts", config=PATIENCE)
        return str(client.get_caller_identity()["Arn"])
    except (ClientError, BotoCoreError) as fault:
        raise CallerUnknown(f"STS did not say whose credentials these are: {fault}") from fault
