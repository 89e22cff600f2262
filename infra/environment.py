"""Which environment variables the functions get: the one list that templates, wiring and tests share.

Must not know which function reads which: the names give no rights, infra/policy/grants.py does.
"""

# Signs the tokens that page through a list: the API's alone.
PAGE_SECRET = "TICKWRIGHT_PAGE_SECRET"  # noqa: S105 - a name
# Which resources a tenant's targets may name, and what the tenants' signing secrets are made from: for whoever takes
# jobs and whoever runs them.
TARGETS = "TICKWRIGHT_TARGETS"
WEBHOOK_KEY = "TICKWRIGHT_WEBHOOK_KEY"
# How many claims of one tenant may wait at a time.
CLAIM_SEATS = "TICKWRIGHT_CLAIM_SEATS"
# Where the workers' lines are, by the names of their log groups with commas between: for a link to them. It gives no
# right to read them.
LOG_GROUPS = "TICKWRIGHT_LOG_GROUPS"
# Where submissions wait that were accepted while the store did not answer (empty: none is accepted), and those that
# were refused afterwards.
INTAKE = "TICKWRIGHT_QUEUE_INTAKE"
INTAKE_UNDELIVERED = "TICKWRIGHT_QUEUE_INTAKE_UNDELIVERED"
# A Valkey that all processes of the API share, for copies of what they have shown (empty: each has its own).
STATUS_CACHE = "TICKWRIGHT_STATUS_CACHE"

# What a machine of the fleet is told besides: which service it is of, its places, its handlers, what it has for a stop.
FLEET = (
    "TICKWRIGHT_FLEET",
    "TICKWRIGHT_PLACES",
    "TICKWRIGHT_HANDLERS",
    "TICKWRIGHT_STOP_S",
    "AWS_DEFAULT_REGION",
)

# What every function gets, in the order in which the product's settings read them.
VARIABLES = (
    "TICKWRIGHT_STAGE",
    "TICKWRIGHT_BUCKETS",
    "TICKWRIGHT_BUCKETS_SERVED",
    "TICKWRIGHT_EPOCH_BASE",
    "TICKWRIGHT_SCALE",
    "TICKWRIGHT_JOBS_TABLE",
    "TICKWRIGHT_EXECUTIONS_TABLE",
    "TICKWRIGHT_JOURNAL_TABLE",
    "TICKWRIGHT_CONTROL_TABLE",
    "TICKWRIGHT_QUEUE_HIGH",
    "TICKWRIGHT_QUEUE_NORMAL",
    "TICKWRIGHT_QUEUE_LOW",
    "TICKWRIGHT_QUEUE_BACKFILL",
    "TICKWRIGHT_QUEUE_FARGATE_HIGH",
    "TICKWRIGHT_QUEUE_FARGATE_NORMAL",
    "TICKWRIGHT_QUEUE_FARGATE_LOW",
    "TICKWRIGHT_QUEUE_FARGATE_BACKFILL",
    "TICKWRIGHT_QUEUE_DEAD",
    "TICKWRIGHT_POOL_QUEUES",
    "TICKWRIGHT_POOL_DLQ",
    "POWERTOOLS_SERVICE_NAME",
    "PYTHONTZPATH",
)


def variables_of(function: str) -> tuple[str, ...]:
    """The variables of one function, by its name."""
    own = {
        "api": (PAGE_SECRET, TARGETS, WEBHOOK_KEY, LOG_GROUPS, INTAKE, STATUS_CACHE),
        "claim": (CLAIM_SEATS,),
        "intake": (TARGETS, INTAKE, INTAKE_UNDELIVERED),
        "worker": (TARGETS, WEBHOOK_KEY),
        "fargate": (TARGETS, WEBHOOK_KEY, *FLEET),
    }
    return (*VARIABLES, *own.get(function, ()))
