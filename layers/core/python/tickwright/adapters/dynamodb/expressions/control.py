"""How bucket leases, idempotency records, names, pools, seats, calendars and deletions are written.

The meaning: domain/leases.py, domain/tenants.py, domain/seats.py, domain/deletions.py, domain/changes/.
"""

from tickwright.adapters.dynamodb.expressions.write import Kind, Write

TAKE_NEW_BUCKET = Write(
    says="Take a bucket that nobody has ever owned.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
TAKE_BUCKET = Write(
    says="Take a bucket whose record stood still while the taker watched it: any write of its owner changes the rvn.",
    condition="#rvn = :seenRvn",
    update="SET #owner = :owner, #leaseEpoch = #leaseEpoch + :one, #rvn = :rvn, #drained = :false",
)
TAKE_BUCKET_ABOVE_A_BASE = Write(
    says="The same, and note the epoch base that its buckets are served with from now on; without one there is none.",
    condition="#rvn = :seenRvn",
    update="SET #owner = :owner, #leaseEpoch = #leaseEpoch + :one, #rvn = :rvn, #drained = :false, "
    "#epochBase = :epochBase",
)
RENEW_BUCKET = Write(
    says="Only the holder of this epoch keeps a bucket.",
    condition="#owner = :holder AND #leaseEpoch = :epoch",
    update="SET #rvn = :rvn, #drained = :drained, #tzdata = :tzdata",
)
GIVE_UP_BUCKET = Write(
    says="Only the holder of this epoch gives a bucket up, and says whether all it began is finished.",
    condition="#owner = :holder AND #leaseEpoch = :epoch",
    update="SET #rvn = :rvn, #drained = :drained, #tzdata = :tzdata REMOVE #owner",
)
PUT_IDEMPOTENCY = Write(
    says="One request a key: a record that has expired is as good as none, whether or not it has been deleted yet.",
    condition="attribute_not_exists(#pk) OR #expiresAt <= :now",
    kind=Kind.PUT,
    batched=False,
)
PUT_NAME = Write(
    says="A name is one job's within its tenant, until it is given up.",
    condition="attribute_not_exists(#pk) OR #released = :true OR #jobId = :jobId",
    kind=Kind.PUT,
    batched=False,
)
PUT_FIRST_ROTATION = Write(
    says="A tenant's signing secret is rotated for the first time.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
PUT_ROTATION = Write(
    says="A tenant's signing secret is rotated once from the number that was seen.",
    condition="#number = :seenNumber",
    kind=Kind.PUT,
    batched=False,
)
PUT_NEW_POOL = Write(
    says="A pool under a name that its tenant has not used.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
PUT_POOL = Write(
    says="A pool over the version that was seen.",
    condition="#version = :seenVersion",
    kind=Kind.PUT,
    batched=False,
)
PUT_SEAT = Write(
    says="One claim a seat, until its end or until whoever sits on it leaves; an end past any wait is a wrong clock's.",
    condition="attribute_not_exists(#pk) OR #until <= :now OR #until > :furthest OR #token = :token",
    kind=Kind.PUT,
    batched=False,
)
PUT_NEW_CALENDAR = Write(
    says="A calendar under a name that never had one.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
PUT_CALENDAR = Write(
    says="A calendar in place of the one that was seen: any write of it changes the token.",
    condition="#writeToken = :seenToken",
    kind=Kind.PUT,
    batched=False,
)
PUT_CALENDAR_VERSION = Write(
    says="A version of a calendar is kept as it was written.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
PUT_NEW_DELETION = Write(
    says="The first deletion of a tenant that anybody remembers.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
PUT_DELETION_OVER_ENDED = Write(
    says="A deletion of whoever has the name of a tenant that is gone.",
    condition="#askedAt = :seenAskedAt AND #endedAt = :seenEndedAt",
    kind=Kind.PUT,
    batched=False,
)
PUT_DELETION_OVER_MOVING = Write(
    says="A deletion goes on from a look that saw something move: nobody has noted a rest since, or an end.",
    condition="#askedAt = :seenAskedAt AND attribute_not_exists(#stillAt) AND attribute_not_exists(#endedAt)",
    kind=Kind.PUT,
    batched=False,
)
PUT_DELETION_OVER_STILL = Write(
    says="A deletion goes on from the rest that was seen: nobody has begun it anew since, or ended it.",
    condition="#askedAt = :seenAskedAt AND #stillAt = :seenStillAt AND attribute_not_exists(#endedAt)",
    kind=Kind.PUT,
    batched=False,
)
CALL_OFF_DELETION = Write(
    says="A deletion of which no row has gone is taken back.",
    condition="#askedAt = :seenAskedAt AND attribute_not_exists(#removesAt) AND attribute_not_exists(#endedAt)",
    kind=Kind.DELETE,
    batched=False,
)
