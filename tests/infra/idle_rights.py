"""Which rights of a function nobody has used: each is one too many.

What a recorded day cannot use, because somebody else does in the function's name, is said here, and is all that may be.
"""

from collections.abc import Iterable

from infra.policy.grants import GRANTS, Resource
from tests.infra.test_grants import INDEX_OF, QUEUES_OF, Rights

Kinds = set[tuple[str, Resource]]

_SEND = "sqs:SendMessage"
# Which pool and lane a hint is for follows from the job alone: whoever sends for any job sends to all.
_HINTED = {Resource.LANES, Resource.FARGATE_LANES, Resource.POOL_QUEUES}
_ELSEWHERE = {
    # Lambda's poller.
    *(
        (action, resource)
        for resource in (Resource.LANES, Resource.INTAKE)
        for action in (
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:ChangeMessageVisibility",
            "sqs:GetQueueAttributes",
        )
    ),
    # The agent beside each machine of the fleet.
    ("ecs:UpdateTaskProtection", Resource.MACHINES),
}


def kinds_granted(function: str) -> Kinds:
    """What a function may do, by kinds of resources."""
    return {(action, grant.resource) for grant in GRANTS[function] for action in grant.actions}


def idle(function: str, used: Rights) -> Kinds:
    """The rights of a function that were not used, neither by itself nor by who acts for it."""
    seen = {(action, _resource_of(name)) for action, name in used}
    if any(action == _SEND and resource in _HINTED for action, resource in seen):
        seen |= {(_SEND, resource) for resource in _HINTED}
    return kinds_granted(function) - seen - _ELSEWHERE


def idle_in_control(function: str, keys: Rights) -> Rights:
    """The same within the control table: pairs of (action, how partition keys begin) that no key was used for."""
    granted = {
        (action, beginning)
        for grant in GRANTS[function]
        if grant.resource is Resource.CONTROL
        for action in grant.actions
        for beginning in grant.keys
    }
    return {
        (action, beginning)
        for action, beginning in granted
        if not any(action == used and key.startswith(beginning) for used, key in keys)
    }


def _resource_of(name: str) -> Resource:
    named: Iterable[tuple[Resource, set[str]]] = (
        (resource, QUEUES_OF.get(resource, {INDEX_OF.get(resource, resource.value)})) for resource in Resource
    )
    return next(resource for resource, names in named if name in names)
