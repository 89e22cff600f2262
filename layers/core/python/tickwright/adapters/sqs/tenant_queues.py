"""How the queues of tenants' pools are called, and what they are made with; their URLs follow, without a look-up.

Must not know a client. They are made while the installation runs, so no template has them; what the template's own
lanes are made with, they are, too. Promise: SEM-POOL-1.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tickwright.domain.lanes import Lane

_HASH_CHARS: Final = 24  # 96 bits: a name of SQS has 80 characters, and a tenant's and a pool's may have more
_RECEIVES_MAX: Final = 1_000  # receiving a hint whose execution another holds counts, and is normal
_RETENTION_S: Final = 4 * 86_400  # the journal sends again whatever nobody has seen finished
_MESSAGE_BYTES_MAX: Final = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantQueues:
    """What all names begin with, and the queue that what nobody could take goes to."""

    prefix: str
    undelivered_arn: str

    def name(self, pool: str, lane: Lane) -> str:
        """The name of a pool's queue."""
        digest = hashlib.sha256(pool.encode()).hexdigest()[:_HASH_CHARS]
        return f"{self.prefix}-{digest}-{lane.value}"

    def attributes(self, name: str) -> Mapping[str, str]:
        """What a queue of this name is made with."""
        redrive = {"deadLetterTargetArn": self.undelivered_arn, "maxReceiveCount": _RECEIVES_MAX}
        return {
            "RedrivePolicy": json.dumps(redrive),
            "MessageRetentionPeriod": str(_RETENTION_S),
            "MaximumMessageSize": str(_MESSAGE_BYTES_MAX),
            "SqsManagedSseEnabled": "true",
            "Policy": json.dumps({"Version": "2012-10-17", "Statement": [self._only_tls(name)]}),
        }

    def _only_tls(self, name: str) -> Mapping[str, object]:
        return {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "sqs:*",
            "Resource": f"{self.undelivered_arn.rpartition(':')[0]}:{name}",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
