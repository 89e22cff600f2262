"""What a function of the API builds before its first request, where somebody else pays for the start.

A model of a body or a query is built when it is asked for (shapes.py): a cold start that a caller waits for builds one.
A snapshot, or a container that is kept warm, is made while nobody waits, and has all that the function may need.
"""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from tickwright.api.route import Route

_WAITED_FOR = "on-demand"


def build_ahead(environ: Mapping[str, str], models: Iterable[type[BaseModel]]) -> int:
    """Build these models, unless a caller waits for this start; how many."""
    if environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", _WAITED_FOR) == _WAITED_FOR:
        return 0
    wanted = list(models)
    for model in wanted:
        model.model_rebuild()
    return len(wanted)


def models_of(routes: Iterable[Route]) -> set[type[BaseModel]]:
    """The models of what these routes take."""
    return {model for route in routes for model in (route.body, route.query) if model is not None}
