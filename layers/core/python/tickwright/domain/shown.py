"""How an execution may be shown: without the secrets of its job in what its attempts have said.

Errors, results and checkpoints are scrubbed for whoever looks at them; what is stored is as it was said, for the next
attempt is handed it. Must not know who looks. Promise: SEM-SECRET-3.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NewType

from tickwright.domain import limits
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.jobs import JobSpec
from tickwright.domain.secrets import MASK, error_without_secrets, secret_members, secret_words

Shown = NewType("Shown", Execution)  # one that may be shown: answers are made of such alone
Members = frozenset[tuple[str, str]]


def has_said(execution: Execution) -> bool:
    """Whether there is anything of user code in it."""
    return execution.error is not None or execution.result is not None or _checkpoint_of(execution) is not None


def shown(execution: Execution, spec: JobSpec) -> Shown:
    """The execution without the secrets of what it was given."""
    error = None if execution.error is None else error_without_secrets(execution.error, spec)
    words, members = secret_words(spec), secret_members(spec)
    result = None if execution.result is None else json_without(execution.result, words, members)
    noted = None if execution.noted is None else _noted_without(execution.noted, words, members)
    return Shown(replace(execution, error=error, result=result, noted=noted))


def shown_in_brief(execution: Execution, spec: JobSpec | None) -> Shown:
    """The same for a list, which shows of what it said the error alone."""
    error = execution.error
    told = error if error is None or spec is None else error_without_secrets(error, spec)
    noted = None if execution.noted is None else replace(execution.noted, checkpoint=None)
    return Shown(replace(execution, error=told, result=None, noted=noted))


def json_without(text: str, words: Iterable[str], members: Members) -> str:
    """JSON text without these words, wherever in a string, a name or a number they stand, and without these members."""
    try:
        value: object = json.loads(text)
        written = "\n".join(_texts(value))
        met = [word for word in words if word in written]
        clean = _without(value, _scrubber(met), members, "")
    except RecursionError:  # so deep that nobody would read it
        return json.dumps(MASK)
    return text if clean == value else json.dumps(clean, separators=(",", ":"), ensure_ascii=False)


def _noted_without(noted: Noted, words: Iterable[str], members: Members) -> Noted:
    if noted.checkpoint is None:
        return noted
    text = json_without(noted.checkpoint, words, members)
    # Masks may be longer than what they stand for, and a checkpoint has a bound.
    fits = len(text.encode()) <= limits.CHECKPOINT_BYTES_MAX
    return replace(noted, checkpoint=text if fits else json.dumps(MASK))


def _checkpoint_of(execution: Execution) -> str | None:
    return None if execution.noted is None else execution.noted.checkpoint


def _scrubber(words: Iterable[str]) -> Callable[[str], str]:
    met = list(words)

    def scrub(text: str) -> str:
        for word in met:
            text = text.replace(word, MASK)
        return text

    return scrub


def _without(value: object, scrub: Callable[[str], str], members: Members, name: str) -> object:
    if isinstance(value, Mapping):
        return {scrub(key): _without(child, scrub, members, key) for key, child in value.items()}
    if isinstance(value, list):
        return [_without(child, scrub, members, name) for child in value]
    if (name, json.dumps(value)) in members:
        return MASK
    if isinstance(value, str):
        return scrub(value)
    # A card's number that comes back as a number is one number, and masked whole.
    return value if scrub(json.dumps(value)) == json.dumps(value) else MASK


def _texts(value: object) -> Iterator[str]:
    """All that is written in it: names, strings and numbers."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            yield from one
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
        else:
            yield one if isinstance(one, str) else json.dumps(one)
