"""What a worker has noted of a run for its next attempt, as an answer has it."""

import json
from typing import Any

from tickwright.domain.executions import Noted


def checkpoint_json(noted: Noted | None) -> Any:  # noqa: ANN401 - any JSON
    """The checkpoint that is noted of an execution."""
    return None if noted is None or noted.checkpoint is None else json.loads(noted.checkpoint)
