"""Which values of a job are secret, and how they are kept out of what people are shown.

A secret is named by an RFC 6901 pointer into the job as its tenant sends it (`/payload/card/number`), or is the value
of a header whose name says so. Must not know who asks: what runs a job is given the values. Promise: SEM-SECRET-1.
"""

import heapq
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, cast

from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, RetryLater, UserResult, an_error
from tickwright.domain.executions import ErrorSummary
from tickwright.domain.jobs import JobSpec, Target
from tickwright.domain.outcomes import FieldProblem
from tickwright.domain.problems import Problems

MASK: Final = "********"

# Names of headers: what the last word is, or how the name ends once it is written without what parts its words.
_LAST_WORD = re.compile(r"(?:.*[-_])?(?:key|pwd|hmac)")
_ENDING = re.compile(
    r".*(?:api|access|auth|private|secret|signing|subscription)key"
    r"|.*(?:token|secret|passw(?:or)?d|passphrase|auth|authorization|credentials?|signature[0-9]*|cookie)"
)
_POINTER = re.compile(r"/(?:payload|target)(?:/(?:[^~/]|~[01])*)*")
_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9-]* (\S+)")  # of an Authorization header: a scheme and a token
_PLAIN = re.compile(r"[ !#-\[\]-~]*")  # what JSON writes as it is
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_NOWHERE: Final = object()
SHORTEST_FOUND = 4  # shorter values are in every text by chance, and masking them would leave nothing of it
_VALUES_SOUGHT = 1_000  # of a secret that is a large object: the longest

_DIGITS_FOUND = 4  # the same of numbers
# Payloads whose words are remembered: a list shows a thousand errors of one job, and each has hundreds of kilobytes.
_PAYLOADS_REMEMBERED = 16

_SAYS_NOTHING: Final = frozenset({"null", '""', "{}", "[]"})  # as JSON, also under a name
_BY_CHANCE: Final = _SAYS_NOTHING | {"true", "false"}

Steps = tuple[str, ...]
_Placed = tuple[str, str]  # where a value is, as a pointer, and the value as JSON


def is_secret_header(name: str) -> bool:
    """Whether the value of this header is a secret, declared or not."""
    word = name.lower()
    joined = word.replace("-", "").replace("_", "")
    return _LAST_WORD.fullmatch(word) is not None or _ENDING.fullmatch(joined) is not None


def read_secrets(problems: Problems, value: object, *, target: Target, payload: object) -> tuple[str, ...]:
    """The pointers that a body declares; a pointer that leads nowhere would hide nothing, and is refused.

    Refused is also a mask in place of a secret: whoever sends it has read the job from us and would overwrite it.
    """
    pointers = tuple(dict.fromkeys(str(one) for one in cast("Sequence[object]", value or ())))
    document = _document(target, payload)
    if len(pointers) > limits.SECRETS_MAX:
        problems.add("/secrets", "too_many", f"There are {len(pointers)}, at most {limits.SECRETS_MAX} are kept.")
    for index, pointer in enumerate(pointers):
        _check_pointer(problems, f"/secrets/{index}", pointer, document)
    for pointer in _outermost((*pointers, *_secret_headers(target))):
        if _holds_mask(_found(document, _steps(pointer))):
            problems.add(pointer, "masked_value", "It is the mask that stands for a secret; send the value itself.")
    return pointers


def _check_pointer(problems: Problems, at: str, pointer: str, document: Mapping[str, object]) -> None:
    if len(pointer) > limits.POINTER_CHARS_MAX or not _POINTER.fullmatch(pointer):
        advice = "is no JSON pointer into the payload or the target; write it as /payload/card/number."
        problems.add(at, "bad_pointer", f"{pointer[:100]!r} {advice}")
    elif pointer in {"/target", "/target/type"} or _found(document, _steps(pointer)) is _NOWHERE:
        problems.add(at, "leads_nowhere", f"{pointer!r} names no value that can be hidden; correct or remove it.")


def lacks_a_value(spec: JobSpec) -> bool:
    """Whether the mask stands where a secret should: it was imported without, and cannot run."""
    document = _document_of(spec)
    pointers = _outermost((*spec.secrets, *_secret_headers(spec.target)))
    return any(_holds_mask(_found(document, _steps(pointer))) for pointer in pointers)


def edit_problems(old: JobSpec, new: JobSpec, ever: Iterable[str] = ()) -> tuple[FieldProblem, ...]:
    """What is wrong with an edit for the sake of the secrets that the job has, and of those that it had: `ever`.

    The mask is no value, and a hidden value is not brought to light by no longer calling it a secret.
    """
    problems = Problems()
    before, after = _document_of(old), _document_of(new)
    named = dict.fromkeys((*old.secrets, *ever))
    if (count := len(named | dict.fromkeys(new.secrets))) > limits.SECRETS_EVER_MAX:
        most = f"at most {limits.SECRETS_EVER_MAX} are kept; submit a new job."
        problems.add("/secrets", "too_many", f"The versions of this job have named {count} in all, {most}")
    masked_ones = [pointer for pointer in _outermost(named) if _holds_mask(_found(after, _steps(pointer)))]
    for pointer in masked_ones:
        problems.add(pointer, "masked_value", "It is the mask that stands for a secret; send the value itself.")
    kept = frozenset((*new.secrets, *_secret_headers(new.target)))
    for pointer in _outermost(old.secrets):
        placed = set(_placed(_found(after, _steps(pointer)), pointer, kept)) if pointer not in masked_ones else set()
        if placed and _shows(placed, _placed(_found(before, _steps(pointer)), pointer)):
            advice = "It is a secret until it has another value; keep it among /secrets, or send another value too."
            problems.add(pointer, "still_secret", advice)
    return tuple(problems.found)


def _shows(placed: Iterable[_Placed], was: Iterable[_Placed]) -> bool:
    """Whether a value that was secret is shown: it is where it was, or elsewhere and one that is not met by chance."""
    old = set(was)
    told = {value for _, value in old if value not in _BY_CHANCE}
    return any(one in old or one[1] in told for one in placed)


def _outermost(pointers: Iterable[str]) -> list[str]:
    """Those that lie within no other of them: a value is looked through once, however many pointers lead into it."""
    named = dict.fromkeys(pointers)
    return [pointer for pointer in named if not any(above in named for above in _above(pointer))]


def _above(pointer: str) -> Iterator[str]:
    """Every pointer that leads to what it lies in."""
    while (at := pointer.rfind("/")) > 0:
        pointer = pointer[:at]
        yield pointer


def masked(spec: JobSpec, also: Iterable[str] = ()) -> JobSpec:
    """The specification as it may be shown; `also`: what other versions of the job declare."""
    pointers = (*spec.secrets, *also)
    settings: object = spec.target.settings
    for pointer in _outermost((*pointers, *_secret_headers(spec.target))):
        of, *steps = _steps(pointer)
        settings = _replaced(settings, tuple(steps)) if of == "target" else settings
    target = replace(spec.target, settings=cast("Mapping[str, object]", settings))
    return replace(spec, target=target, payload=masked_payload(spec.payload, pointers))


def masked_places(spec: JobSpec, also: Iterable[str] = ()) -> list[str]:
    """Where a mask stands in place of a value that is secret: what lay there may be anything."""
    document = _document_of(spec)
    pointers = _outermost((*spec.secrets, *also, *_secret_headers(spec.target)))
    values = [value for pointer in pointers for value in _placed(_found(document, _steps(pointer)), pointer)]
    return [place for place, text in values if text == json.dumps(MASK)]


def masked_payload(payload: str, secrets: Iterable[str]) -> str:
    """The JSON text of a payload as it may be shown."""
    all_steps = [steps[1:] for pointer in _outermost(secrets) if (steps := _steps(pointer))[0] == "payload"]
    if not all_steps:
        return payload
    value: object = json.loads(payload)
    for steps in all_steps:
        value = _replaced(value, steps)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def scrubbed(text: str, spec: JobSpec, *, is_cut: bool = False, goes_on: bool = False) -> str:
    """The text without the job's secrets, as far as they stand in it as they are or as JSON writes them.

    `is_cut`: it is the end of a longer one, and may begin in the middle of a secret; `goes_on`: it is the beginning of
    a longer one, and may end in the middle of one.
    """
    return _scrubbed(text, secret_words(spec), is_cut=is_cut, goes_on=goes_on)


def _scrubbed(text: str, words: Sequence[str], *, is_cut: bool = False, goes_on: bool = False) -> str:
    for word in words:
        text = text.replace(word, MASK)
    text = _without_an_end(text, words) if is_cut else text
    return _without_a_beginning(text, words) if goes_on else text


def without_secrets(result: UserResult, spec: JobSpec) -> UserResult:
    """How an attempt ended, as it may be shown: user code may have put anything into its error."""
    if not isinstance(result, Failure | Fatal | RetryLater) or result.error is None:
        return result
    told = error_without_secrets(result.error, spec)
    # Its fingerprint is of what is shown.
    made_anew = an_error(told.error_class, told.message, told.trace)
    return result if told == result.error else replace(result, error=made_anew)


def error_without_secrets(error: ErrorSummary, spec: JobSpec) -> ErrorSummary:
    """The same error, with the fingerprint that it has."""
    words = secret_words(spec)
    name = _scrubbed(error.error_class, words, goes_on=len(error.error_class) >= limits.TAG_CHARS_MAX)
    message = _scrubbed(error.message, words, goes_on=len(error.message) >= limits.ERROR_MESSAGE_CHARS_MAX)
    trace = _scrubbed(error.trace, words, is_cut=len(error.trace) >= limits.ERROR_TRACE_CHARS_MAX)
    return replace(error, error_class=name, message=message, trace=trace)


def _without_an_end(text: str, values: Sequence[str]) -> str:
    """Without the end of a secret that the text begins with, if it is long enough to tell."""
    size = max((_overlap(value, text) for value in values), default=0)
    return MASK + text[size:] if size else text


def _without_a_beginning(text: str, values: Sequence[str]) -> str:
    """Without the beginning of a secret that the text ends with, if it is long enough to tell."""
    size = max((_overlap(text, value) for value in values), default=0)
    return text[: len(text) - size] + MASK if size else text


def _overlap(first: str, second: str) -> int:
    """How many characters the end of one text has in common with the beginning of another; few count for none."""
    head, end = second[:SHORTEST_FOUND], first[max(0, len(first) - len(second)) :]
    at = end.find(head)
    while at >= 0 and not second.startswith(end[at:]):
        at = end.find(head, at + 1)
    return 0 if at < 0 else len(end) - at


def secret_words(spec: JobSpec) -> Sequence[str]:
    """What to look for in a text, the longest first, so that none is found as a part of another."""
    pointers = _outermost((*spec.secrets, *_secret_headers(spec.target)))
    in_payload = tuple(pointer for pointer in pointers if _steps(pointer)[0] == "payload")
    of_payload = _words_of_payload(spec.payload, in_payload) if in_payload else ()
    document = _document(spec.target, None)
    others = [_found(document, _steps(pointer)) for pointer in pointers if pointer not in in_payload]
    return _longest({*_words(others), *of_payload}) if others else of_payload


@lru_cache(maxsize=_PAYLOADS_REMEMBERED)
def _words_of_payload(payload: str, pointers: tuple[str, ...]) -> tuple[str, ...]:
    document = {"payload": json.loads(payload)}
    return _longest(_words(_found(document, _steps(pointer)) for pointer in pointers))


def _words(values: Iterable[object]) -> set[str]:
    leaves = {leaf for value in values for leaf in _leaves(value)}
    return {word for leaf in leaves for word in _written(leaf) if len(word) >= SHORTEST_FOUND}


def _longest(words: set[str]) -> tuple[str, ...]:
    return tuple(heapq.nsmallest(_VALUES_SOUGHT, words, key=lambda word: (-len(word), word)))


def secret_members(spec: JobSpec) -> frozenset[tuple[str, str]]:
    """Each value that is secret, as JSON, under the name of the member that it is or lies in.

    Where both are met together, even a value that is too short to look for in a text is no chance.
    """
    pointers = _outermost((*spec.secrets, *_secret_headers(spec.target)))
    document = _document_of(spec) if pointers else {}
    placed = (one for pointer in pointers for one in _members(*_named(document, _steps(pointer))))
    return frozenset(one for one in placed if one[1] not in _SAYS_NOTHING)


def _named(value: object, steps: Steps) -> tuple[str, object]:
    """What stands there, and the name of the member that it is or lies in."""
    name = ""
    for step in steps:
        name = step if isinstance(value, Mapping) else name
        value = _child(value, step)
    return name, value


def _members(name: str, value: object) -> Iterator[tuple[str, str]]:
    """All that has nothing below it, under the name of the member that it is or lies in."""
    left: list[tuple[str, object]] = [] if value is _NOWHERE else [(name, value)]
    while left:
        named, one = left.pop()
        if isinstance(one, Mapping) and one:
            left.extend((str(step), child) for step, child in one.items())
        elif isinstance(one, list | tuple) and one:
            left.extend((named, child) for child in one)
        else:
            yield named, json.dumps(one)


def _written(leaf: object) -> Iterator[str]:
    """The forms in which a value turns up: alone, within JSON, a header's credentials, the path of a URL."""
    if isinstance(leaf, str):
        yield leaf
        if not _PLAIN.fullmatch(leaf):
            yield json.dumps(leaf)[1:-1]
            yield json.dumps(leaf, ensure_ascii=False)[1:-1]
        yield leaf.partition("://")[2].partition("/")[2]
        if (credentials := _CREDENTIALS.fullmatch(leaf)) is not None:
            yield credentials[1]
    elif isinstance(leaf, int | float) and not isinstance(leaf, bool):
        whole = isinstance(leaf, float) and leaf.is_integer()
        forms = {json.dumps(leaf), str(int(leaf))} if whole else {json.dumps(leaf)}
        yield from (form for form in forms if sum(map(str.isdigit, form)) >= _DIGITS_FOUND)


def _secret_headers(target: Target) -> list[str]:
    headers = target.settings.get("headers")
    names = [str(name) for name in headers] if isinstance(headers, Mapping) else []
    return [f"/target/headers/{_escaped(name)}" for name in names if is_secret_header(name)]


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _steps(pointer: str) -> Steps:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]) or ("",)


def _document(target: Target, payload: object) -> Mapping[str, object]:
    return {"target": target.settings, "payload": payload}


def _document_of(spec: JobSpec) -> Mapping[str, object]:
    return _document(spec.target, json.loads(spec.payload))


def _child(value: object, step: str) -> object:
    """The member of an object or the element of a list; _NOWHERE if there is none."""
    if isinstance(value, Mapping):
        return value.get(step, _NOWHERE)
    if isinstance(value, list | tuple) and _INDEX.fullmatch(step) and int(step) < len(value):
        return value[int(step)]
    return _NOWHERE


def _found(value: object, steps: Steps) -> object:
    for step in steps:
        value = _child(value, step)
    return value


def _replaced(value: object, steps: Steps) -> object:
    """A copy with the mask in this place; the same where there is no such place."""
    if not steps:
        return MASK
    step, rest = steps[0], steps[1:]
    child = _child(value, step)
    if child is _NOWHERE:
        return value
    if isinstance(value, Mapping):
        return {**value, step: _replaced(child, rest)}
    elements = list(cast("Sequence[object]", value))
    elements[int(step)] = _replaced(child, rest)
    return elements


def _holds_mask(value: object) -> bool:
    return MASK in _leaves(value)


def _placed(value: object, at: str, kept: frozenset[str] = frozenset()) -> Iterator[_Placed]:
    """All that has nothing below it, an object or a list without members too, and where it is; but for what is kept."""
    is_kept = value is _NOWHERE or any(above in kept for above in _above(at))
    left: list[tuple[str, object]] = [] if is_kept else [(at, value)]
    while left:
        place, one = left.pop()
        if place in kept:
            continue
        if isinstance(one, Mapping) and one:
            left.extend((f"{place}/{_escaped(str(step))}", child) for step, child in one.items())
        elif isinstance(one, list | tuple) and one:
            left.extend((f"{place}/{index}", child) for index, child in enumerate(one))
        else:
            yield place, json.dumps(one)


def _leaves(value: object) -> Iterator[object]:
    """All that is neither an object nor a list."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left.extend(one.values())
        elif isinstance(one, list | tuple):
            left.extend(one)
        elif one is not _NOWHERE:
            yield one
