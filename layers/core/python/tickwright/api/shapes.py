"""Whether a value has the shape that a model describes: names and types, each problem with a pointer and a remedy.

Must not know the rules behind the shape (zones, cron, limits across fields): the domain has those. Promise: SEM-API-1.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from tickwright.api.problems import invalid_fields
from tickwright.domain.outcomes import FieldProblem

# Enough for everything that a person could have meant; a hostile body gets no longer answer.
ERRORS_MAX = 20
_CHARS_SHOWN = 40
_BITS_SHOWN = 128
_UNION = "target"  # the one member whose shape its `type` decides

# Names and values that semantics.md has, and that this version does not do yet.
LATER_MEMBERS = frozenset(
    {
        "/deadline", "/startWithinSec", "/waitFor", "/steps", "/concurrencyKey", "/after",
        "/overlap/limit", "/overlap/keep", "/overlap/maxConcurrent", "/catchup/maxRuns",
    }
)  # fmt: skip
LATER_VALUES: Mapping[str, frozenset[str]] = {
    "/overlap/mode": frozenset({"queue", "replace"}),
}

ModelT = TypeVar("ModelT", bound=BaseModel)


class Shape(BaseModel):
    """A JSON object with exactly these members.

    A model is built when it is asked for the first time: a cold start would build all of them for a request that has
    one.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        alias_generator=to_camel,
        hide_input_in_errors=True,
        defer_build=True,
    )


def shaped(model: type[ModelT], value: object, *, prefix: str = "") -> ModelT:
    """The value as the model, or Refused with everything that must change (the first twenty)."""
    try:
        return model.model_validate(value)
    except ValidationError as fault:
        details = fault.errors(include_url=False, include_context=True)[:ERRORS_MAX]
        raise invalid_fields(tuple(_problem(detail, value, prefix) for detail in details)) from None


def pointer_of(steps: tuple[int | str, ...]) -> str:
    """The RFC 6901 pointer of a path."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _problem(detail: ErrorDetails, value: object, prefix: str) -> FieldProblem:
    pointer = pointer_of(_steps(detail, value))
    if detail["type"].startswith("union_tag"):
        pointer += "/type"
    later = _later(pointer, detail)
    code, message = ("not_supported_yet", later) if later else (_code(detail), _remedy(detail))
    if prefix:
        return FieldProblem(pointer=prefix + pointer.removeprefix("/"), code=code, message=message)
    return FieldProblem(pointer=pointer, code=code, message=message)


def _steps(detail: ErrorDetails, value: object) -> tuple[int | str, ...]:
    """The location as the body has it: pydantic puts the name of a union's branch behind the union's own."""
    steps: list[int | str] = []
    here: Any = value
    *outer, last = detail["loc"] or ("",)
    is_tagged = False
    for step in outer:
        if not is_tagged and _is_branch(here, steps, step):
            is_tagged = True
            continue
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            continue
        is_tagged = False
        steps.append(step)
    if last == "" or not isinstance(here, dict | list) or (not is_tagged and _is_branch(here, steps, last)):
        return tuple(steps)
    return (*steps, str(last)[: 2 * _CHARS_SHOWN] if isinstance(last, str) else last)


def _is_branch(here: object, steps: list[int | str], step: int | str) -> bool:
    """Whether a step is the kind of the target that is there: a pool's is also the name of a member."""
    return steps[-1:] == [_UNION] and isinstance(here, dict) and here.get("type") == step


def _later(pointer: str, detail: ErrorDetails) -> str | None:
    if detail["type"] == "extra_forbidden" and pointer in LATER_MEMBERS:
        return "This version does not have it yet; leave it out."
    given = (detail.get("ctx") or {}).get("tag") or detail["input"]
    if isinstance(given, str) and given in LATER_VALUES.get(pointer, ()):
        return f"This version does not do {given!r} yet. {_remedy(detail)}"
    return None


_CODES: Mapping[str, str] = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "literal_error": "bad_value",
    "enum": "bad_value",
    "union_tag_invalid": "bad_value",
    "union_tag_not_found": "missing",
    "string_too_long": "too_long",
    "string_too_short": "too_short",
    "too_long": "too_many",
    "string_pattern_mismatch": "bad_value",
    "value_error": "bad_value",
}
_REMEDIES: Mapping[str, str] = {
    "missing": "It is required; add it.",
    "extra_forbidden": "There is no such field; leave it out, or look up its name in /v1/openapi.json.",
    "union_tag_not_found": "It is required: say which kind it is.",
}
# What each pattern of a body allows, in words: that is what a person can go by.
PATTERNS_SAY: Mapping[str, str] = {
    r"^[a-z2-7]{26}$": "an id as an answer has it: 26 small letters and digits from 2 to 7",
    r"^[\x21-\x7E]+$": "printable ASCII without blanks",
    r"^[\x21-\x7E]{1,128}$": "1 to 128 characters of printable ASCII without blanks",
    r"^[\x20-\x7E]*$": "printable ASCII in one line",
    r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$": "up to 64 letters, digits and the marks that a header's name may have",
    r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$": "up to 128 letters, digits and _ . : -, beginning with none of . : -",
    r"^[A-Za-z0-9_-]{1,255}$": "up to 255 letters, digits, _ and -",
    r"^subnet-[a-z0-9]+$": "a subnet's id, such as subnet-0a1b2c3d",
    r"^sg-[a-z0-9]+$": "a security group's id, such as sg-0a1b2c3d",
}
_OUT_OF_RANGE = frozenset({"greater_than_equal", "greater_than", "less_than_equal", "less_than", "finite_number"})


def _code(detail: ErrorDetails) -> str:
    if detail["type"] in _OUT_OF_RANGE:
        return "out_of_range"
    return _CODES.get(detail["type"], "bad_type")


def _remedy(detail: ErrorDetails) -> str:
    """What to change; where pydantic's own words already say it, those, with what was sent."""
    context = detail.get("ctx") or {}
    if detail["type"] in _REMEDIES:
        return _REMEDIES[detail["type"]]
    match detail["type"]:
        case "literal_error" | "enum":
            return f"It is {_shown(detail['input'])}; write {context['expected']}."
        case "union_tag_invalid":
            return f"It is {_shown(context['tag'])}; write one of {context['expected_tags']}."
        case "model_type" | "dict_type":
            return f"It is {_shown(detail['input'])}; write an object, in braces."
        case "string_too_short" if context["min_length"] == 1:
            return "It is empty; write at least one character, or leave out what may be absent."
        case "value_error":
            return str(context["error"])
        case "string_pattern_mismatch" if context["pattern"] in PATTERNS_SAY:
            return _with_input(f"Write {PATTERNS_SAY[context['pattern']]}", detail)
        case _:
            return _with_input(detail["msg"].removeprefix("Input ").capitalize(), detail)


def _with_input(said: str, detail: ErrorDetails) -> str:
    # A header may be a secret, and refusals are logged by those who get them.
    return f"{said}." if "headers" in detail["loc"] else f"{said}; it is {_shown(detail['input'])}."


def _shown(value: object) -> str:
    match value:
        case str():
            return repr(value if len(value) <= _CHARS_SHOWN else value[:_CHARS_SHOWN] + "...")
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int() | float():
            is_huge = isinstance(value, int) and value.bit_length() > _BITS_SHOWN
            return "a huge number" if is_huge else str(value)
        case list():
            return "a list"
        case _:
            return "an object"
