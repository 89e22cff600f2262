"""The handlers of a worker, by the names that jobs call them by; renaming a function changes nothing.

Must not know how a handler is called. A second one under a name, one that takes no context, or one that a child could
not find is refused where it is written. Promise: SEM-SDK-4.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, Unpack

from tickwright_sdk.arguments import whole
from tickwright_sdk.context import Context
from tickwright_sdk.loading import load
from tickwright_sdk.payloads import Shape
from tickwright_sdk.terms import Terms

P = TypeVar("P")
R = TypeVar("R")
P_contra = TypeVar("P_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
_PROGRAM = "__main__"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")  # as the API takes it
_NAMED = "use up to 128 letters, digits and . _ : -, beginning with a letter, a digit or _"


class HandlerRefused(TypeError):  # noqa: N818 - says what happened to it
    """A function cannot be a handler as it stands; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job that was accepted, and the API's answer in full."""

    job_id: str
    body: Mapping[str, Any]


class Submits(Protocol):
    """Submits a call of a handler as a job: a client of the API does."""

    def submit_call(
        self, handler: str, payload: str, *, key: str | None, run_at: datetime | None, terms: Terms
    ) -> Submitted:
        """Submit it; the same key again answers the same job. `run_at` None is now, which is two seconds ahead."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a handler is to be called."""

    in_child: bool = False
    memory_mb: int | None = None


class Job(Generic[P_contra, R_co]):
    """A registered handler: it can still be called as the function it is, and submitted with the payload it takes."""

    def __init__(self, name: str, fn: Callable[[P_contra, Context], R_co], *, manner: Manner, shape: Shape) -> None:
        functools.update_wrapper(self, fn)
        self.name = name
        self.fn = fn
        self.manner = manner
        self.shape = shape
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(fn))
        self.client: Submits | None = None

    @property
    def fits_a_child(self) -> bool:
        """Whether a child finds it: at the top of a module, and not of the program itself."""
        return _why_not_in_child(self.name, self.fn) is None

    def __call__(self, payload: P_contra, ctx: Context) -> R_co:
        return self.fn(payload, ctx)

    def submit(
        self,
        payload: P_contra,
        *,
        key: str | None = None,
        run_at: datetime | None = None,
        client: Submits | None = None,
        **terms: Unpack[Terms],
    ) -> Submitted:
        """Submit this handler with a payload, once, now or at a time; the same `key` again answers the same job.

        Now is two seconds ahead: a run needs an instant that is still to come where it arrives.
        """
        by = client or self.client
        if by is None:
            raise RuntimeError(f"who submits {self.name!r}? Say submit(client=...), or register it with a Worker")
        return by.submit_call(self.name, self.shape.text_of(payload), key=key, run_at=run_at, terms=terms)


AnyJob = Job[Any, Any]


class Registry:
    """Handlers by name."""

    def __init__(self, client: Submits | None = None, *, may_be_program: bool = False) -> None:
        """`client` is who submits for them.

        `may_be_program`: what a child cannot find in the program itself is not refused where it is written, but told in
        `refused` to who starts the program: the same file may be loaded as a module.
        """
        self._jobs: dict[str, AnyJob] = {}
        self._client = client
        self._may_be_program = may_be_program
        self.refused: str | None = None

    def job(
        self,
        name: str,
        *,
        process: bool = False,
        memory_mb: int | None = None,
    ) -> Callable[[Callable[[P, Context], R]], Job[P, R]]:
        """Register a function under a name.

        `process`: call it in a child, for code that computes; `memory_mb` bounds what one call of it may take there.
        """
        names = sys._getframe(1).f_locals  # noqa: SLF001 - a hint may name a class that is local to whoever decorates
        return self.register(name, Manner(in_child=process, memory_mb=memory_mb), names)

    def register(
        self, name: str, manner: Manner, names: Mapping[str, object]
    ) -> Callable[[Callable[[P, Context], R]], Job[P, R]]:
        """As `job`, for one who decorates on behalf of another, with the local names of that one."""
        if not isinstance(name, str):
            raise HandlerRefused(f'a handler has a name: write @worker.job("billing.nightly") above it, not {name!r}')
        if not _NAME.fullmatch(name):
            raise HandlerRefused(f"{name!r} is no name of a handler: {_NAMED}")
        if manner.memory_mb is not None:
            whole("memory_mb", manner.memory_mb, least=1)

        def register(fn: Callable[[P, Context], R]) -> Job[P, R]:
            self._judge(name, fn, manner)
            made = Job(name, fn, manner=manner, shape=Shape(fn, names))
            made.client = self._client
            self._jobs[name] = made
            return made

        return register

    def _judge(self, name: str, fn: Callable[..., object], manner: Manner) -> None:
        if name in self._jobs:
            raise HandlerRefused(f"two handlers are called {name!r}: give one of them another name")
        try:
            inspect.signature(fn).bind(None, None)
        except TypeError as fault:
            raise HandlerRefused(f"{fn!r} cannot be called as fn(payload, ctx): {fault}") from None
        if manner.memory_mb is not None and not manner.in_child:
            raise HandlerRefused(f"{name!r} has a memory limit: it needs process=True, since threads share memory")
        if manner.in_child and (why_not := _why_not_in_child(name, fn)) is not None:
            if not self._may_be_program or fn.__module__ != _PROGRAM:
                raise HandlerRefused(why_not)
            self.refused = self.refused or why_not

    def named(self, name: str) -> AnyJob | None:
        """The handler of this name."""
        return self._jobs.get(name)

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self._jobs)


def _why_not_in_child(name: str, fn: Callable[..., object]) -> str | None:
    module, place = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "<nowhere>")
    if module == _PROGRAM:
        return (
            f"{name!r} is called in a child, which cannot import the program itself: "
            f"start it with `python -m tickwright_sdk {_program()}`, or move it to a module"
        )
    if module is None or "<" in place:
        return f"{name!r} is called in a child, which finds {place!r} in no module: define it at its top"
    return None


def _program() -> str:
    """The program as a module with its worker."""
    file = getattr(sys.modules[_PROGRAM], "__file__", None)
    return "module:worker" if file is None else f"{Path(file).stem}:worker"


def found(module: str, place: str) -> Callable[..., object]:
    """The function that a child was told of: of a registered one, what it wraps."""
    load(module)
    at: Any = sys.modules[module]
    for part in place.split("."):
        at = getattr(at, part)
    fn: Callable[..., object] = at.fn if isinstance(at, Job) else at
    return fn
