"""From a body of the right shape to a job specification, by the domain's rules; and the rules' refusals to pointers.

Must not know the rules themselves.
"""

from collections.abc import Mapping

from tickwright.api.call import Call
from tickwright.api.problems import invalid, invalid_fields
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.job_rules import JobRefused, read_schedule, read_spec
from tickwright.domain.jobs import JobSpec
from tickwright.domain.schedules import HashIdentity, Schedule

# Ticks are evaluated for the years that have zones; a reader at the edges of the calendar would find no local time.
_EARLIEST, _LATEST = from_rfc3339("1970-01-01T00:00:00Z"), from_rfc3339("9000-01-01T00:00:00Z")


def read_members(call: Call, members: Mapping[str, object], job_id: JobId, now: Instant) -> JobSpec:
    """The specification that a body of these members describes, or Refused with everything that must change."""
    identity = HashIdentity(tenant_id=call.tenant_id, job_id=job_id)
    try:
        return read_spec(members, identity=identity, now=now)
    except JobRefused as refused:
        raise invalid_fields(refused.errors) from None


def check_target(call: Call, spec: JobSpec) -> None:
    """Refuse a target that names what the installation does not allow the tenant (SEM-TARGET-5)."""
    if problems := call.api.targets.problems(call.tenant_id, spec.target):
        raise invalid_fields(tuple(problems))


def read_source(call: Call, source: Mapping[str, object], now: Instant) -> Schedule:
    """A schedule that belongs to no job yet, or Refused with everything that must change."""
    try:
        return read_schedule(source, identity=HashIdentity(tenant_id=call.tenant_id, job_id=""), now=now)
    except JobRefused as refused:
        raise invalid_fields(refused.errors) from None


def read_moment(text: str, pointer: str) -> Instant:
    """An instant from which to look, or Refused."""
    try:
        moment = from_rfc3339(text)
    except ValueError as fault:
        hint = " A + in a query is a blank: write it as %2B." if " " in text and pointer.startswith("query:") else ""
        raise invalid(pointer, "bad_instant", f"{fault}.{hint}") from None
    if not _EARLIEST <= moment <= _LATEST:
        raise invalid(pointer, "out_of_range", "It is not between the years 1970 and 9000; write an instant within.")
    return moment
