"""Which shape each kind of target has in a body; the schemas of openapi.json are made from these models.

Must not know the rules beyond the shape: domain/target_rules.py has those. Promise: SEM-API-1.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tickwright.api.shapes import Shape
from tickwright.domain import limits

HEADERS_MAX = 30
HEADER_CHARS_MAX = 2_048
SUBNETS_MAX = 16
SECURITY_GROUPS_MAX = 5
EVENT_TEXT_CHARS_MAX = 128
ARN_CHARS_MAX = 512

# The target's adapter sets these itself; a tenant's would contradict them.
RESERVED_HEADERS = frozenset(
    {
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
        "content-type", "content-encoding", "accept-encoding", "proxy-authorization", "proxy-connection",
        "idempotency-key", "traceparent", "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature",
    }
)  # fmt: skip


def _no_reserved_name(headers: dict[str, str]) -> dict[str, str]:
    names = [name.lower() for name in headers]
    reserved = sorted(RESERVED_HEADERS.intersection(names))
    if reserved:
        raise ValueError(f"Tickwright sets {', '.join(reserved)} itself; leave it out.")
    if len(set(names)) < len(names):
        raise ValueError("A header's name stands twice, in other case; keep one.")
    return headers


HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")]
HeaderValue = Annotated[str, Field(max_length=HEADER_CHARS_MAX, pattern=r"^[\x20-\x7E]*$")]
Headers = Annotated[dict[HeaderName, HeaderValue], Field(max_length=HEADERS_MAX), AfterValidator(_no_reserved_name)]
HandlerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$")]
Arn = Annotated[str, Field(min_length=1, max_length=ARN_CHARS_MAX)]
Completion = Literal["accepted", "callback"]
_COMPLETION = Field(
    default=None,
    description="`accepted`, if absent: it succeeds once the service has taken it. `callback`: it runs on, and whoever "
    "got it completes it by executionId and leaseEpoch, within `timeoutSec`.",
)


class HttpTarget(Shape):
    """POSTs to an address.

    The body is JSON: executionId, jobId, scheduledTime, attempt, leaseEpoch, deadline, traceparent, checkpoint and
    payload. The executionId is also sent as `Idempotency-Key`, and the request is signed by the rules of Standard
    Webhooks.

    2xx is a success; 408, 425, 429 and 5xx are tried again; other 4xx end the execution; redirects are not followed.
    """

    type: Literal["http"]
    url: Annotated[
        str, Field(min_length=1, max_length=limits.URL_CHARS_MAX, examples=["https://example.com/hooks/nightly"])
    ]
    headers: Headers = Field(default={}, description="Sent with every attempt.")
    completion: Literal["response", "callback"] | None = Field(
        default=None,
        description="`response`, if absent: the answer ends the attempt. `callback`: a 202 does not; it runs on, and "
        "whoever was asked completes it by executionId and leaseEpoch, within `timeoutSec`.",
    )


class PythonTarget(Shape):
    """Calls a handler that is registered in the worker."""

    type: Literal["python"]
    handler: Annotated[HandlerName, Field(examples=["nightly-report"])]


class PoolTarget(Shape):
    """Waits for a machine of the tenant's own: it claims from the pool, and knows what the handler's name means."""

    type: Literal["pool"]
    pool: Annotated[str, Field(min_length=1, max_length=limits.POOL_NAME_CHARS_MAX, examples=["gpu"])]
    handler: Annotated[HandlerName, Field(examples=["billing.nightly"])]


class LambdaTarget(Shape):
    """Invokes a function with what an `http` target is told. What it returns is the result."""

    type: Literal["lambda"]
    function_arn: Arn
    invocation: Literal["sync", "event"] | None = Field(
        default=None, description="`sync`, if absent: its answer ends the attempt. `event`: nobody waits for it."
    )
    completion: Completion | None = _COMPLETION


class SqsTarget(Shape):
    """Sends a message with what an `http` target is told; a FIFO queue drops what a try before it has sent."""

    type: Literal["sqs"]
    queue_arn: Arn
    message_group_id: Annotated[str, Field(pattern=r"^[\x21-\x7E]{1,128}$")] | None = Field(
        default=None, description="The jobId if absent, in a FIFO queue."
    )
    completion: Completion | None = _COMPLETION


class EventBridgeTarget(Shape):
    """Puts an event whose detail is what an `http` target is told."""

    type: Literal["eventbridge"]
    bus_arn: Arn
    source: Annotated[str, Field(min_length=1, max_length=EVENT_TEXT_CHARS_MAX)] | None = Field(
        default=None, description="`tickwright` if absent."
    )
    detail_type: Annotated[str, Field(min_length=1, max_length=EVENT_TEXT_CHARS_MAX)] | None = Field(
        default=None, description="`Execution Due` if absent."
    )
    completion: Completion | None = _COMPLETION


class StepFunctionsTarget(Shape):
    """Starts a state machine, whose input is what an `http` target is told; a STANDARD one once for all tries."""

    type: Literal["stepFunctions"]
    state_machine_arn: Arn
    completion: Completion | None = _COMPLETION


class EcsTarget(Shape):
    """Starts a container, whose variable TICKWRIGHT_EXECUTION holds what an `http` target is told; once for all tries.

    TICKWRIGHT_EXECUTION_ID and TICKWRIGHT_LEASE_EPOCH stand beside it. The payload may have 3,072 bytes.
    """

    type: Literal["ecsTask"]
    cluster_arn: Arn
    family_arn: Arn = Field(alias="taskDefinitionArn")
    container_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,255}$")]
    launch_type: Literal["FARGATE", "EC2", "EXTERNAL"] | None = Field(default=None, description="`FARGATE` if absent.")
    capacity_provider: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,255}$")] | None = Field(
        default=None, description="In place of a launch type, such as `FARGATE_SPOT`."
    )
    subnets: Annotated[list[Annotated[str, Field(pattern=r"^subnet-[a-z0-9]+$")]], Field(max_length=SUBNETS_MAX)] = (
        Field(default=[])
    )
    security_groups: Annotated[
        list[Annotated[str, Field(pattern=r"^sg-[a-z0-9]+$")]], Field(max_length=SECURITY_GROUPS_MAX)
    ] = Field(default=[])
    assign_public_ip: bool = False
    completion: Completion | None = _COMPLETION


Target = Annotated[
    HttpTarget
    | PythonTarget
    | PoolTarget
    | LambdaTarget
    | SqsTarget
    | EventBridgeTarget
    | StepFunctionsTarget
    | EcsTarget,
    Field(discriminator="type"),
]
