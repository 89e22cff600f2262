"""What cdk.json says about the app: its feature flags.

Only the CDK's command-line tool reads cdk.json. Read here too, so that `python app.py`, the tests and a deployment
build with the same flags. Must not know what a flag does.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# The tool's own: names that begin so are its, and it warns of them in cdk.json.
OF_THE_TOOL: Mapping[str, Any] = {"aws:cdk:enable-path-metadata": True}
# CDK's switch for packaging: with an empty list no layer is built, and every key and template stays the same.
WITHOUT_PACKAGING: Mapping[str, Any] = {"aws:cdk:bundling-stacks": []}


def context_of_cdk_json(*, packaging: bool = True) -> dict[str, Any]:
    """The `context` of cdk.json, to be passed to the app, and what the tool adds to it."""
    flags: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return flags | dict(OF_THE_TOOL) | dict({} if packaging else WITHOUT_PACKAGING)
