"""Which resources of the installation's AWS account a tenant's targets may name: a list of ARN patterns a tenant.

Tenants choose their targets, but the worker's own rights reach them: without this list one tenant could post into
another's queue. Patterns as `python:billing.*` do the same for the platform's handlers. Must not know what a target
does. Promise: SEM-TARGET-5.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import Target
from tickwright.domain.outcomes import FieldProblem
from tickwright.domain.pools import PYTHON_TARGET
from tickwright.domain.target_rules import ARN_MEMBERS

EVERYBODY = "*"
HANDLERS = "python:"  # how a pattern of handlers begins


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTargets:
    """Patterns by tenant, `*` for every tenant; in a pattern `*` stands for any characters. Without any, nothing is."""

    patterns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def allows(self, tenant_id: TenantId, arn: str) -> bool:
        """Whether the tenant's targets may name this resource."""
        own = (*self.patterns.get(EVERYBODY, ()), *self.patterns.get(tenant_id, ()))
        return any(_matches(pattern, arn) for pattern in own)

    @property
    def lists_handlers(self) -> bool:
        """Whether the installation says who may call which handler; one that does not lets everybody call each."""
        return any(pattern.startswith(HANDLERS) for patterns in self.patterns.values() for pattern in patterns)

    def problems(self, tenant_id: TenantId, target: Target) -> list[FieldProblem]:
        """What a target names and may not: none where it names no resource."""
        if target.kind == PYTHON_TARGET and self.lists_handlers:
            return self._handler_problems(tenant_id, str(target.settings["handler"]))
        return [
            FieldProblem(
                pointer=f"/target/{name}",
                code="target_not_allowed",
                message=f"{arn!r} is not among the targets that this installation allows you; ask whoever runs it.",
            )
            for name, arn in resources_of(target).items()
            if not self.allows(tenant_id, arn)
        ]

    def _handler_problems(self, tenant_id: TenantId, handler: str) -> list[FieldProblem]:
        if self.allows(tenant_id, f"{HANDLERS}{handler}"):
            return []
        message = f"{handler!r} is not among the handlers that this installation allows you; ask whoever runs it."
        return [FieldProblem(pointer="/target/handler", code="target_not_allowed", message=message)]


EVERY_HANDLER = AllowedTargets()  # which lists none


def resources_of(target: Target) -> Mapping[str, str]:
    """The ARNs that a target names, by member."""
    return {name: str(target.settings[name]) for name in ARN_MEMBERS.get(target.kind, ()) if name in target.settings}


def allowed_from_json(text: str) -> AllowedTargets:
    """Read the setting: an object of lists of patterns. Raises ValueError, so that a start fails and not a request."""
    value = json.loads(text or "{}")
    if not isinstance(value, dict) or not all(_is_list_of_texts(patterns) for patterns in value.values()):
        raise ValueError("the allowed targets are an object: a tenant, or *, to a list of patterns")
    return AllowedTargets(patterns={tenant: tuple(patterns) for tenant, patterns in value.items()})


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _matches(pattern: str, arn: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), arn) is not None
