"""What the API builds before its first request, where somebody else pays for the start.

A model of a body or a query is built when it is asked for (shapes.py): a cold start that a caller waits for builds one.
A snapshot, or a container that is kept warm, is made while nobody waits, and has them all.
"""

from collections.abc import Mapping

from tickwright.api.routes import ROUTES

_WAITED_FOR = "on-demand"


def build_ahead(environ: Mapping[str, str]) -> int:
    """Build every model, unless a caller waits for this start; how many."""
    if environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", _WAITED_FOR) == _WAITED_FOR:
        return 0
    models = {model for route in ROUTES for model in (route.body, route.query) if model is not None}
    for model in models:
        model.model_rebuild()
    return len(models)
