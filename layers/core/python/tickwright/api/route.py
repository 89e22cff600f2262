"""What a path and a method lead to: the endpoint, and all that a caller and the document must know of it.

Must not know which there are (routes.py). No framework: a row is read by two programs and by people, costs no import,
and every refusal is ours (SEM-API-1).
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tickwright.api.bodies import NoQuery
from tickwright.api.call import Call
from tickwright.api.exchange import Response
from tickwright.domain.tenants import Scope

Endpoint = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path. `scope`: what the key must allow. `body` None: none is read; `patch`: any object is."""

    method: str
    path: str
    endpoint: Endpoint
    says: str
    answer: Any
    status: int = 200
    may_create: bool = False  # 201 in place of 200 where there was none
    validated: Any = None  # the answer, with 200, to a write with validateOnly
    accepted: Any = None  # the answer, with 202, where the store does not answer and there is an intake
    scope: Scope | None = None
    is_open: bool = False
    body: type[BaseModel] | None = None
    body_is_patch: bool = False
    query: type[BaseModel] = NoQuery
    headers: tuple[str, ...] = ()  # request headers; required where they end in `!`
    refusals: tuple[int, ...] = ()  # statuses beside those that every route may answer
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Compile the path: a parameter is one step of it."""
        template = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]{1,200})", self.path.replace(".", r"\."))
        object.__setattr__(self, "pattern", re.compile(template))


def routes_at(path: str, routes: Sequence[Route]) -> Iterable[tuple[Route, dict[str, str]]]:
    """Every method of the path, with what stands for its parameters; a path without any goes before one with."""
    literal: list[tuple[Route, dict[str, str]]] = [
        (route, {}) for route in routes if route.path == path and "{" not in path
    ]
    if literal:
        return literal
    return [(route, match.groupdict()) for route in routes if (match := route.pattern.fullmatch(path)) is not None]
