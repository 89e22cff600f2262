"""Which rights no day uses on which all goes well, and what each is for: they go with what they are for.

A right that a recorded day does not use and that has no sentence here is one too many.
"""

from collections.abc import Iterable, Mapping

from infra.policy.grants import GRANTS, Resource
from tests.infra.test_grants import INDEX_OF, QUEUES_OF, Rights

Kinds = set[tuple[str, Resource]]

_SEND = "sqs:SendMessage"
# Which pool and lane a hint is for follows from the job alone: whoever sends to one sends to all.
_HINTED = {Resource.LANES, Resource.FARGATE_LANES, Resource.POOL_QUEUES}
# Used by Lambda's poller, in the function's name.
_POLLED = {
    (action, resource)
    for resource in (Resource.LANES, Resource.INTAKE)
    for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")
}
_BURY = "A run that ends for good while it is looked at is DEAD, and its letter is owed."
_AGAIN = "An answer that was lost is read again before anything is said of it."

OF_WORSE_DAYS: Mapping[str, Mapping[tuple[str, Resource], str]] = {
    "api": {
        ("dynamodb:UpdateItem", Resource.CONTROL): "The payload of a redriven run is kept as long as the run.",
        (
            "sqs:SetQueueAttributes",
            Resource.POOL_QUEUES,
        ): "The queues of a pool that is put again are as they should be.",
        ("sqs:GetQueueAttributes", Resource.POOL_QUEUES): "What waits in a pool that is to be deleted is counted.",
        (_SEND, Resource.DEAD_EXECUTIONS): _BURY,
    },
    "intake": {
        ("dynamodb:BatchGetItem", Resource.JOBS): _AGAIN,
        ("dynamodb:BatchGetItem", Resource.EXECUTIONS): _AGAIN,
        ("dynamodb:GetItem", Resource.EXECUTIONS): "A job that was accepted, and cancelled while it landed.",
        ("dynamodb:UpdateItem", Resource.EXECUTIONS): "A job that was accepted, and cancelled while it landed.",
        (_SEND, Resource.LANES): "What was due while the store was away starts when it lands.",
        (_SEND, Resource.FARGATE_LANES): "What was due while the store was away starts when it lands.",
        (_SEND, Resource.POOL_QUEUES): "What was due while the store was away starts when it lands.",
    },
    "claim": {
        ("dynamodb:GetItem", Resource.EXECUTIONS): _AGAIN,
        ("dynamodb:PutItem", Resource.EXECUTIONS): "What follows a run whose lease was found over is inserted.",
        ("dynamodb:PutItem", Resource.JOURNAL): "What is begun by that stands on a page first.",
        ("dynamodb:UpdateItem", Resource.JOBS): "The job of a run whose lease was found over goes on.",
        ("sqs:ChangeMessageVisibility", Resource.POOL_QUEUES): "A hint of what somebody holds is shown again later.",
        (_SEND, Resource.LANES): "What follows a run may be for other workers.",
        (_SEND, Resource.FARGATE_LANES): "What follows a run may be for other workers.",
        (_SEND, Resource.POOL_QUEUES): "A run that was given back is hinted at again.",
        (_SEND, Resource.DEAD_EXECUTIONS): _BURY,
    },
    "scheduler": {
        ("dynamodb:GetItem", Resource.JOBS): "An edit whose time has come is read before it is decided by.",
        ("dynamodb:GetItem", Resource.EXECUTIONS): _AGAIN,
        ("dynamodb:BatchGetItem", Resource.EXECUTIONS): "What a dead scheduler has begun is read, to be finished.",
        ("dynamodb:UpdateItem", Resource.EXECUTIONS): "A run that waits for its retry is let go, or reaped.",
        ("dynamodb:PartiQLUpdate", Resource.EXECUTIONS): "Many that wait are let go together.",
        ("dynamodb:Query", Resource.JOURNAL): "What a dead scheduler has begun stands there.",
        ("dynamodb:DeleteItem", Resource.JOURNAL): "And goes when it is finished.",
        (_SEND, Resource.DEAD_EXECUTIONS): _BURY,
    },
    "watch": {
        ("dynamodb:PutItem", Resource.EXECUTIONS): "A tick that a dead scheduler has decided gets its run.",
        ("dynamodb:PartiQLInsert", Resource.EXECUTIONS): "Many such get theirs together.",
        ("dynamodb:PartiQLUpdate", Resource.EXECUTIONS): "Many that are left are ended together.",
        ("dynamodb:PartiQLUpdate", Resource.JOBS): "Ticks are decided together where no scheduler lives.",
        (_SEND, Resource.DEAD_EXECUTIONS): _BURY,
    },
    "worker": {
        ("dynamodb:GetItem", Resource.EXECUTIONS): _AGAIN,
        ("dynamodb:PutItem", Resource.CONTROL): "The log of an attempt that says something.",
        ("dynamodb:PutItem", Resource.EXECUTIONS): "The next run of a job whose runs wait for each other.",
        ("dynamodb:PutItem", Resource.JOURNAL): "It stands on a page first.",
        ("dynamodb:UpdateItem", Resource.JOBS): "And its job is occupied by it.",
        (_SEND, Resource.LANES): "A retry that is due soon is hinted at.",
        (_SEND, Resource.FARGATE_LANES): "What follows a run may be for other workers.",
        (_SEND, Resource.POOL_QUEUES): "What follows a run may be for other workers.",
    },
}


def kinds_granted(function: str) -> Kinds:
    """What a function may do, by kinds of resources."""
    return {(action, grant.resource) for grant in GRANTS[function] for action in grant.actions}


def idle(function: str, used: Rights) -> Kinds:
    """The rights of a function that were not used, neither by itself nor by who polls for it."""
    seen = {(action, _resource_of(name)) for action, name in used}
    if any(action == _SEND and resource in _HINTED for action, resource in seen):
        seen |= {(_SEND, resource) for resource in _HINTED}
    return kinds_granted(function) - seen - _POLLED


def without_a_reason(function: str, used: Rights) -> Kinds:
    """Of those, the ones that nobody has said a word for."""
    return idle(function, used) - set(OF_WORSE_DAYS.get(function, {}))


def _resource_of(name: str) -> Resource:
    named: Iterable[tuple[Resource, set[str]]] = (
        (resource, QUEUES_OF.get(resource, {INDEX_OF.get(resource, resource.value)})) for resource in Resource
    )
    return next(resource for resource, names in named if name in names)
