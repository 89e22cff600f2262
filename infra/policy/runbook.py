"""Which alarms an installation has, and under which heading of docs/operations.md each is explained.

The one list: infra/constructs/alarm.py makes no alarm without an entry, a check finds one that was made beside it, and
a test finds a heading without an alarm. Must not know thresholds (infra/alarm_settings.py).
"""

import re
from enum import Enum


class Runbook(Enum):
    """The heading of each alarm's section."""

    RUNS_START_LATE = "Runs start late"
    TICKS_WAIT = "Ticks wait"
    SCHEDULER_IS_SILENT = "The scheduler is silent"
    WATCH_IS_SILENT = "The watch is silent"
    HINTS_GROW_OLD = "Hints grow old"
    SUBMISSIONS_WAIT = "Submissions wait"
    NOBODY_SERVES_A_LANE = "Nobody serves a lane"
    RUNS_DIE = "Runs die"
    HINTS_WERE_GIVEN_UP = "Hints were given up"
    STORE_REFUSES_FOR_HEAT = "The store refuses for heat"
    API_ANSWERS_5XX = "The API answers 5xx"
    AUTHORIZER_FAILS = "The authorizer fails"
    A_FUNCTION_FAILS = "A function fails"
    A_FUNCTION_IS_THROTTLED = "A function is throttled"
    A_BUG_OF_OURS = "A bug of ours"
    AWS_DOES_NOT_ANSWER = "AWS does not answer"

    @property
    def anchor(self) -> str:
        """What a browser calls the heading."""
        return re.sub(r"[^a-z0-9 -]", "", self.value.lower()).replace(" ", "-")
