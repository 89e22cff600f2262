"""Which slot an `H` stands for: the same for one job for ever, evenly spread over all jobs.

SHA-256 of tenant, job, field name and salt: a rename moves nothing (ids never change), and one field's slot does not
depend on another's. Must not know cron texts. Promise: SEM-SCHED-12.
"""

import hashlib
from dataclasses import dataclass

# Eight bytes are so many more than the widest field (60) that the remainder favours no slot measurably.
_DIGEST_BYTES_READ = 8


@dataclass(frozen=True, slots=True)
class HashIdentity:
    """Whose slots are asked for; the salt lets an installation move everybody at once."""

    tenant_id: str
    job_id: str
    salt: str = ""


NOBODY = HashIdentity(tenant_id="", job_id="")


def slot(identity: HashIdentity, field: str, width: int) -> int:
    """A number in [0, width), settled by the identity and the field's name alone."""
    assert width > 0
    digest = hashlib.sha256(_joined(identity.tenant_id, identity.job_id, field, identity.salt)).digest()
    return int.from_bytes(digest[:_DIGEST_BYTES_READ], "big") % width


def _joined(*parts: str) -> bytes:
    """Each part with its length before it, so that no two lists of parts give the same bytes."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
