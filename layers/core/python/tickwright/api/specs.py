"""From a body of the right shape to a job specification, by the domain's rules; and the rules' refusals to pointers.

Must not know the rules themselves.
"""

from tickwright.api.bodies import JobBody
from tickwright.api.call import Call
from tickwright.api.problems import invalid_fields
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.job_rules import JobRefused, read_spec
from tickwright.domain.jobs import JobSpec
from tickwright.domain.schedules import HashIdentity


def read_shaped(call: Call, body: JobBody, job_id: JobId, now: Instant) -> JobSpec:
    """The specification that a body describes, or Refused with everything that must change."""
    value = body.model_dump(by_alias=True, exclude_unset=True)
    identity = HashIdentity(tenant_id=call.tenant_id, job_id=job_id)
    try:
        return read_spec(value, identity=identity, now=now)
    except JobRefused as refused:
        raise invalid_fields(refused.errors) from None
