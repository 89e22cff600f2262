"""What of a tenant is exported.

Not its history, its requests and its API keys: those are made anew. Must not know how a record is written down, nor
what an import makes of it (imports.py).
Promise: SEM-TENANT-4.
"""

from dataclasses import dataclass, replace
from typing import Final

from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, Head
from tickwright.domain.pools import Pool
from tickwright.domain.schedules import Calendar
from tickwright.domain.secrets import masked
from tickwright.domain.webhooks import Rotation

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first record: whose export it is, and in which form."""

    tenant_id: TenantId
    exported_at: Instant
    form: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarVersion:
    """A version of a calendar, the oldest first; the last is what stands."""

    calendar: Calendar
    stands: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExport:
    """An open job with all its versions. `lacks_secrets`: values that it runs with were left out."""

    head: Head
    definitions: tuple[Definition, ...]
    lacks_secrets: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the versions are there that it runs by, now and next: a copy of tables may lack one."""
        return {self.head.definition_version, self.head.newest_version} <= {one.version for one in self.definitions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The last record: how many stand before it. An export without one was cut off."""

    records: int


Record = Opening | CalendarVersion | Pool | Rotation | JobExport | Closing


def without_secret_values(export: JobExport) -> JobExport:
    """The same with masks in place of what any version of the job, up to its last, calls secret."""
    newest = export.definitions[-1]
    shown = tuple(replace(one, spec=masked(one.spec, hidden_in(one.version, newest))) for one in export.definitions)
    counts = {export.head.definition_version, export.head.newest_version}
    lacks = any(one != was and one.version in counts for one, was in zip(shown, export.definitions, strict=True))
    return replace(export, definitions=shown, lacks_secrets=lacks)
