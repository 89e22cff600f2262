"""Which environment variables the functions get: the one list that templates, wiring and tests share.

Must not know which function reads which: the names give no rights, infra/policy/grants.py does.
"""

# Signs the tokens that page through a list: the API's alone.
PAGE_SECRET = "TICKWRIGHT_PAGE_SECRET"  # noqa: S105 - a name

# What every function gets, in the order in which the product's settings read them.
VARIABLES = (
    "TICKWRIGHT_STAGE",
    "TICKWRIGHT_BUCKETS",
    "TICKWRIGHT_SCALE",
    "TICKWRIGHT_JOBS_TABLE",
    "TICKWRIGHT_EXECUTIONS_TABLE",
    "TICKWRIGHT_JOURNAL_TABLE",
    "TICKWRIGHT_CONTROL_TABLE",
    "TICKWRIGHT_QUEUE_HIGH",
    "TICKWRIGHT_QUEUE_NORMAL",
    "TICKWRIGHT_QUEUE_LOW",
    "TICKWRIGHT_QUEUE_BACKFILL",
    "TICKWRIGHT_QUEUE_DEAD",
    "POWERTOOLS_SERVICE_NAME",
    "PYTHONTZPATH",
)


def variables_of(function: str) -> tuple[str, ...]:
    """The variables of one function, by its name."""
    return (*VARIABLES, PAGE_SECRET) if function == "api" else VARIABLES
