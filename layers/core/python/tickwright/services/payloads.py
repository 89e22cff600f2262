"""What an attempt is given: its job's definition, with the execution's own payload where it has one.

Promises: SEM-DLQ-3, SEM-SECRET-1.
"""

from collections.abc import Sequence
from dataclasses import replace

from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId
from tickwright.domain.jobs import Definition, JobSpec
from tickwright.services.kit import Kit


async def with_own_payload(kit: Kit, execution: Execution, definition: Definition) -> Definition | None:
    """The definition that one execution runs with; None if its own payload is not there any more."""
    if execution.rerun_of is None:
        return definition
    kept = await kit.store.own_payload(execution.ref)
    if kept is None:
        return None
    spec = replace(definition.spec, payload=kept.payload, secrets=both(definition.spec.secrets, kept.secrets))
    return replace(definition, spec=spec)


async def definition_given(kit: Kit, execution: Execution) -> Definition | None:
    """What an execution runs with; None if its job's definition or its own payload is not there."""
    definition = await kit.store.definition(execution.job_id, execution.job_version)
    return None if definition is None else await with_own_payload(kit, execution, definition)


async def spec_by_now(kit: Kit, job_id: JobId) -> JobSpec | None:
    """A job as it is now, whatever it was when an execution was given its version."""
    head = await kit.store.head(job_id)
    current = None if head is None else await kit.store.definition(head.job_id, head.definition_version)
    return None if current is None else current.spec


def both(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The pointers of two lists, each once."""
    return tuple(dict.fromkeys((*some, *others)))
