"""How an execution may be shown: without the secrets of its job in what its attempts have said.

Errors, results and checkpoints are scrubbed for whoever looks at them; what is stored is as it was said, for the next
attempt is handed it. Must not know who looks. Promise: SEM-SECRET-3.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NewType

from tickwright.domain import limits
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.jobs import JobSpec
from tickwright.domain.secrets import MASK, SHORTEST_FOUND, error_without_secrets, secret_members, secret_words

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
    told = error if error is None or spec is None else error_without_secrets(replace(error, trace=""), spec)
    noted = None if execution.noted is None else replace(execution.noted, checkpoint=None)
    return Shown(replace(execution, error=told, result=None, noted=noted))


def json_without(text: str, words: Iterable[str], members: Members) -> str:
    """JSON text without these words, wherever in a string, a name or a number they stand, and without these members."""
    try:
        value: object = json.loads(text)
        clean = _without(value, _scrubber(words), members, "")
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
    """Looks in a text only for those words whose beginnings are in it: there may be thousands of either."""
    by_head: dict[str, list[str]] = {}
    for word in words:
        by_head.setdefault(word[:SHORTEST_FOUND], []).append(word)

    def scrub(text: str) -> str:
        heads = by_head.keys() & {text[at : at + SHORTEST_FOUND] for at in range(len(text) - SHORTEST_FOUND + 1)}
        met = [word for head in heads for word in by_head[head] if word in text]
        for word in sorted(met, key=len, reverse=True):
            text = text.replace(word, MASK)
        return text

    return scrub


def _without(value: object, scrub: Callable[[str], str], members: Members, name: str) -> object:
    if isinstance(value, Mapping):
        return {scrub(key): _without(child, scrub, members, key) for key, child in value.items()}
    if isinstance(value, list):
        return [_without(child, scrub, members, name) for child in value]
    written = json.dumps(value)
    if (name, written) in members:
        return MASK
    if isinstance(value, str):
        return scrub(value)
    # A card's number that comes back as a number is one number, and masked whole.
    return value if scrub(written) == written else MASK
