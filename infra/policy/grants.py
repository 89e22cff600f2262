"""Which function, and which machine of the fleet, may do what to which resource, action by action.

The one table of rights: nothing else in infra/ grants access to data or queues. Must not know ARNs (infra/parts.py).
A transaction needs the right of each of its items, and a batch of PartiQL statements needs the PartiQL actions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Resource(Enum):
    """What can be granted: a table, one of its indexes, or queues of one kind."""

    JOBS = "Jobs"
    JOBS_DUE = "JobsDue"
    JOBS_TENANT = "JobsTenant"
    EXECUTIONS = "Executions"
    EXECUTIONS_WAITING = "ExecutionsWaiting"
    EXECUTIONS_ATTENTION = "ExecutionsAttention"
    JOURNAL = "Journal"
    CONTROL = "Control"
    LANES = "Lanes"
    FARGATE_LANES = "FargateLanes"
    POOL_QUEUES = "PoolQueues"
    DEAD_EXECUTIONS = "DeadExecutions"
    INTAKE = "Intake"
    INTAKE_UNDELIVERED = "IntakeUndelivered"
    MACHINES = "Machines"


@dataclass(frozen=True, slots=True)
class Grant:
    """The actions that one function may take on one resource.

    `keys`: only on items whose partition key begins with one of these (docs/data-model.md); all if there are none.
    """

    resource: Resource
    actions: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def sid(self) -> str:
        """The name of its statement: a function's grants on parts of one table are several."""
        return self.resource.value + "".join(key.rstrip("#").capitalize() for key in self.keys)


_GET, _BATCH_GET, _QUERY = "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"
_PUT, _UPDATE, _DELETE = "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"
# A transaction may demand something of an item that it does not write: a run that is asked for, that its job is open.
_CHECK = "dynamodb:ConditionCheckItem"
# Statements of BatchExecuteStatement: put-if-absent and conditional update, up to 25 in one request.
_INSERT_STATEMENT, _UPDATE_STATEMENT = "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"
_SEND = tuple(
    Grant(queues, ("sqs:SendMessage",)) for queues in (Resource.LANES, Resource.FARGATE_LANES, Resource.POOL_QUEUES)
)
_BURY = Grant(Resource.DEAD_EXECUTIONS, ("sqs:SendMessage",))


# Whoever finishes what a dead process has begun: insert decided ticks, reap, expire and settle, and tell the workers.
def _repairs(*more_of_executions: str) -> tuple[Grant, ...]:
    return (
        Grant(Resource.EXECUTIONS, (_BATCH_GET, _PUT, _UPDATE, _INSERT_STATEMENT, *more_of_executions)),
        *_SEND,
        _BURY,
    )


# The lease of a bucket says above which epoch whoever claims has to hand them out.
_NOTED_BASE = Grant(Resource.CONTROL, (_GET,), keys=("BUCKET#",))


# Claim, report, end, settle: whoever gives executions to workers, or runs them. Definitions are read, and cached for
# ever; the head is read for what is hidden by now. A retry is hinted at in the pool that the run was in: its own.
def _attempts(*more_of_executions: str) -> tuple[Grant, ...]:
    return (
        Grant(Resource.JOBS, (_GET,)),
        Grant(Resource.EXECUTIONS, (*more_of_executions, _UPDATE)),
        _NOTED_BASE,
        _BURY,
    )


# And whoever runs them.
_RUNS = (
    *_attempts(),
    # The log of an attempt is put; the payload that an execution has of its own is read, and when the tenant's signing
    # secret was rotated. Keys, leases and orders are in this table too: who runs tenants' code must not reach them.
    Grant(Resource.CONTROL, (_PUT,), keys=("LOG#",)),
    Grant(Resource.CONTROL, (_GET,), keys=("PAYLOAD#", "TENANT#")),
)

GRANTS: Mapping[str, tuple[Grant, ...]] = MappingProxyType(
    {
        "api": (
            # Submit and run-now take the loop's steps for what is due now.
            Grant(Resource.JOBS, (_GET, _BATCH_GET, _PUT, _UPDATE, _CHECK)),
            # Everybody's ticks are counted from the due index.
            Grant(Resource.JOBS_DUE, (_QUERY,)),
            Grant(Resource.JOBS_TENANT, (_QUERY,)),
            # A job's ledger is queried, to be shown and to be retracted.
            Grant(Resource.EXECUTIONS, (_GET, _BATCH_GET, _QUERY, _PUT, _UPDATE)),
            Grant(Resource.EXECUTIONS_ATTENTION, (_QUERY,)),
            Grant(Resource.JOURNAL, (_PUT,)),
            # What lies under tenants (names, idempotency records, calendars, pools, rotations), payloads of runs, and
            # orders. No API key, and nobody's lease: who takes over the API makes none.
            Grant(Resource.CONTROL, (_GET, _PUT), keys=("PAYLOAD#", "REDRIVES", "TENANT#")),
            Grant(Resource.CONTROL, (_BATCH_GET,), keys=("PAYLOAD#", "TENANT#")),
            Grant(Resource.CONTROL, (_QUERY,), keys=("REDRIVES", "TENANT#")),
            # The payload of a run that is redriven is kept as long as the run.
            Grant(Resource.CONTROL, (_UPDATE,), keys=("PAYLOAD#",)),
            # What attempts said: shown, and put for tenants' own machines.
            Grant(Resource.CONTROL, (_QUERY, _PUT), keys=("LOG#",)),
            # The map of everybody's ticks counts all buckets that were ever served.
            _NOTED_BASE,
            Grant(Resource.LANES, ("sqs:SendMessage",)),
            Grant(Resource.FARGATE_LANES, ("sqs:SendMessage",)),
            # It makes the queues of tenants' pools, counts what they hold, and removes those of a pool that is deleted.
            Grant(
                Resource.POOL_QUEUES,
                (
                    "sqs:CreateQueue",
                    "sqs:SetQueueAttributes",
                    "sqs:GetQueueAttributes",
                    "sqs:DeleteQueue",
                    "sqs:SendMessage",
                ),
            ),
            _BURY,
            # What it accepts while the store does not answer.
            Grant(Resource.INTAKE, ("sqs:SendMessage",)),
        ),
        "intake": (
            # It submits as the API does, and takes the loop's steps for what is due by now: a run that comes too late
            # is born dead, and its letter is owed.
            Grant(Resource.JOBS, (_GET, _BATCH_GET, _PUT, _UPDATE)),
            Grant(Resource.EXECUTIONS, (_PUT, _UPDATE)),
            Grant(Resource.JOURNAL, (_PUT,)),
            # Names, idempotency records, calendars and pools of the tenant: no key, and nobody's lease.
            Grant(Resource.CONTROL, (_GET, _BATCH_GET, _PUT), keys=("TENANT#",)),
            *_SEND,
            _BURY,
            Grant(
                Resource.INTAKE,
                (
                    "sqs:ReceiveMessage",
                    "sqs:DeleteMessage",
                    "sqs:ChangeMessageVisibility",
                    "sqs:GetQueueAttributes",
                ),
            ),
            Grant(Resource.INTAKE_UNDELIVERED, ("sqs:SendMessage",)),
        ),
        "claim": (
            # What a repeated claim was granted is read together. One that finds a lease over ends that attempt.
            *_attempts(_BATCH_GET),
            # The tenant's pool, the payload that an execution has of its own, and what a claim was granted: noted, so
            # that the same claim again is answered alike. Seats for claims that wait: looked through, taken and left.
            Grant(Resource.CONTROL, (_GET,), keys=("PAYLOAD#", "TENANT#")),
            Grant(Resource.CONTROL, (_QUERY, _PUT), keys=("TENANT#",)),
            # It receives for the tenants' machines, and gives back what could not be granted after all.
            Grant(
                Resource.POOL_QUEUES,
                ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:SendMessage"),
            ),
        ),
        "authorizer": (Grant(Resource.CONTROL, (_GET,), keys=("KEY#",)),),
        "scheduler": (
            Grant(Resource.JOBS_DUE, (_QUERY,)),
            # What waits for its time is let go by whoever serves its bucket.
            Grant(Resource.EXECUTIONS_WAITING, (_QUERY,)),
            # It decides ticks, many at a time, and carries out edits that have come to theirs.
            Grant(Resource.JOBS, (_GET, _BATCH_GET, _UPDATE, _UPDATE_STATEMENT)),
            *_repairs(_UPDATE_STATEMENT),
            # Pages that its last owner has left are read at the take-over of a bucket, and left to the watch.
            Grant(Resource.JOURNAL, (_PUT, _QUERY)),
            # Whether the pool of what nobody claims is there, and the calendars that a schedule names. API keys are in
            # this table too, and no loop reads or writes one.
            Grant(Resource.CONTROL, (_GET, _BATCH_GET), keys=("TENANT#",)),
            # The leases of buckets: read alone, put where there is none.
            Grant(Resource.CONTROL, (_GET, _PUT, _UPDATE), keys=("BUCKET#",)),
        ),
        "watch": (
            # Heads tell what was decided; that of what is redriven is written.
            Grant(Resource.JOBS, (_GET, _BATCH_GET, _UPDATE)),
            # What is due and nobody decides is told of.
            Grant(Resource.JOBS_DUE, (_QUERY,)),
            *_repairs(_GET),
            Grant(Resource.JOURNAL, (_PUT, _QUERY, _DELETE)),
            # Whether the pool of what nobody claims is there, and the calendars that such a tick could be decided by.
            Grant(Resource.CONTROL, (_GET, _BATCH_GET), keys=("TENANT#",)),
            # It looks through the dead for what an order means, finds the orders themselves, and moves them on.
            Grant(Resource.EXECUTIONS_ATTENTION, (_QUERY,)),
            Grant(Resource.CONTROL, (_GET, _QUERY, _PUT), keys=("REDRIVES",)),
            # How many buckets have ever been served is told by their leases.
            Grant(Resource.CONTROL, (_GET,), keys=("BUCKET#",)),
            # The payload that a redriven execution has of its own is kept longer, and read after it.
            Grant(Resource.CONTROL, (_UPDATE, _BATCH_GET), keys=("PAYLOAD#",)),
        ),
        "worker": (
            *_RUNS,
            # What Lambda's poller needs to work for the function, and the function to give a hint back.
            Grant(
                Resource.LANES,
                (
                    "sqs:ReceiveMessage",
                    "sqs:DeleteMessage",
                    "sqs:ChangeMessageVisibility",
                    "sqs:GetQueueAttributes",
                    "sqs:SendMessage",
                ),
            ),
        ),
        # No function, but the machines of the fleet.
        "fargate": (
            *_RUNS,
            Grant(
                Resource.FARGATE_LANES,
                ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:SendMessage"),
            ),
            # Their own protection from being scaled in: the agent beside each asks with this right.
            Grant(Resource.MACHINES, ("ecs:UpdateTaskProtection",)),
        ),
    }
)
