"""What an attempt is given: its job's definition, with the execution's own payload where it has one.

Promise: SEM-DLQ-3.
"""

from dataclasses import replace

from tickwright.domain.executions import Execution
from tickwright.domain.jobs import Definition
from tickwright.services.kit import Kit


async def with_own_payload(kit: Kit, execution: Execution, definition: Definition) -> Definition | None:
    """The definition that one execution runs with; None if its own payload is not there any more."""
    if execution.rerun_of is None:
        return definition
    kept = await kit.store.own_payload(execution.ref)
    return None if kept is None else replace(definition, spec=replace(definition.spec, payload=kept.payload))
