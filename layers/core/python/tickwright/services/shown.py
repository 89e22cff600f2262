"""Executions as they may be shown: without the secrets of what they were given, by what their jobs name until now.

Must not know an answer's form. Versions are read once each, and few are in hand at a time: payloads may be large.
Promises: SEM-SECRET-2, SEM-SECRET-3.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tickwright.domain.executions import Execution
from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import JobId
from tickwright.domain.jobs import Definition, Head, JobSpec
from tickwright.domain.shown import Shown, has_said, shown, shown_in_brief
from tickwright.services.kit import Kit
from tickwright.services.payloads import both, with_own_payload

_AT_ONCE = 25  # executions whose versions are in hand together

Versions = Mapping[tuple[JobId, int], Definition | None]


async def as_shown(kit: Kit, execution: Execution) -> Shown:
    """One, whole."""
    if not has_said(execution):
        return Shown(execution)
    heads = await kit.store.heads([execution.job_id])
    spec = await _given(kit, execution, heads, await _versions(kit, [execution], heads))
    return Shown(execution) if spec is None else shown(execution, spec)


async def as_listed(kit: Kit, executions: Sequence[Execution]) -> list[Shown]:
    """Many, each in brief: of what they have said the errors alone."""
    # Those of one version stand together, so that a part's versions are at most the last part's last ones and its own.
    failed = sorted((one for one in executions if one.error is not None), key=lambda one: (one.job_id, one.job_version))
    heads = await kit.store.heads(list({execution.job_id for execution in failed})) if failed else {}
    brief = {execution.ref: shown_in_brief(execution, None) for execution in executions if execution.error is None}
    versions: Versions = {}
    for start in range(0, len(failed), _AT_ONCE):
        some = failed[start : start + _AT_ONCE]
        versions = await _versions(kit, some, heads, versions)
        given = await asyncio.gather(*(_given(kit, execution, heads, versions) for execution in some))
        brief |= {one.ref: shown_in_brief(one, spec) for one, spec in zip(some, given, strict=True)}
    return [brief[execution.ref] for execution in executions]


async def _versions(
    kit: Kit, executions: Sequence[Execution], heads: Mapping[JobId, Head], known: Versions = MappingProxyType({})
) -> Versions:
    """The versions that they run with, and the newest of their jobs; those that are known are not read again."""
    named = {(execution.job_id, execution.job_version) for execution in executions}
    named |= {(job_id, heads[job_id].newest_version) for job_id, _ in named if job_id in heads}
    asked = sorted(named - set(known))
    found = await asyncio.gather(*(kit.store.definition(*one) for one in asked))
    return {one: known[one] for one in named & set(known)} | dict(zip(asked, found, strict=True))


async def _given(kit: Kit, execution: Execution, heads: Mapping[JobId, Head], versions: Versions) -> JobSpec | None:
    """What it was given, with all that is hidden of it by now; None if its version is gone, with which nothing ran."""
    definition = versions[execution.job_id, execution.job_version]
    if definition is None:
        return None
    given = (await with_own_payload(kit, execution, definition) or definition).spec
    head = heads.get(execution.job_id)
    newest = None if head is None else versions[head.job_id, head.newest_version]
    also = () if newest is None else hidden_in(execution.job_version, newest)
    return replace(given, secrets=both(given.secrets, also))
