"""Is an execution shown without the secrets in what it said, and is the rest as it was said?"""

import json
from dataclasses import replace
from time import process_time
from typing import Any

import pytest

from tests.support.builders import a_definition, an_execution
from tickwright.domain import limits
from tickwright.domain.attempts import an_error
from tickwright.domain.executions import Noted
from tickwright.domain.jobs import JobSpec
from tickwright.domain.secrets import MASK
from tickwright.domain.shown import shown, shown_in_brief

pytestmark = pytest.mark.sem("SEM-SECRET-3")

PAYLOAD: dict[str, Any] = {
    "card": {"number": "4111111111111111", "cvc": 123, "vip": True, "none": None},
    "pin": 20_417,
    "price": 1250.0,
    "key": 'line one\nline "two"',
    "amount": 7,
}
SECRETS = ("/payload/card", "/payload/pin", "/payload/price", "/payload/key")
SPEC: JobSpec = replace(a_definition().spec, payload=json.dumps(PAYLOAD), secrets=SECRETS)


def result_shown(result: object, spec: JobSpec = SPEC) -> object:
    """A result as it is shown."""
    told = shown(an_execution(result=json.dumps(result)), spec).result
    assert told is not None
    return json.loads(told)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("paid by 4111111111111111.", f"paid by {MASK}."),
        ({"of": ["4111111111111111", "other"]}, {"of": [MASK, "other"]}),
        ({"4111111111111111": "ok"}, {MASK: "ok"}),
        ({"as number": 4111111111111111}, {"as number": MASK}),
        ({"pin": 20_417, "text": "pin=20417"}, {"pin": MASK, "text": f"pin={MASK}"}),
        ({"sum": 1250, "exact": 1250.0}, {"sum": MASK, "exact": MASK}),
        ({"quoted": json.dumps(PAYLOAD["key"])}, {"quoted": f'"{MASK}"'}),
        ({"as it is": PAYLOAD["key"]}, {"as it is": MASK}),
    ],
)
def test_a_value_is_masked_wherever_it_stands(said: object, told: object) -> None:
    """In a string, a name, a number, in JSON within JSON."""
    assert result_shown(said) == told


def test_a_payload_that_comes_back_is_masked_in_its_short_values_too() -> None:
    """They stand under their own names; the same values elsewhere are chance."""
    told = result_shown({"echo": PAYLOAD, "rows": 123, "vip": [True], "done": True})

    assert told == {
        "echo": {
            "card": {"number": MASK, "cvc": MASK, "vip": MASK, "none": None},
            "pin": MASK,
            "price": MASK,
            "key": MASK,
            "amount": 7,
        },
        "rows": 123,
        "vip": [MASK],
        "done": True,
    }


def test_a_name_may_look_like_a_place_in_a_list() -> None:
    """It is the name of its own value all the same."""
    payload = {"codes": {"7": 123}, "list": [[0, 456]]}
    spec = replace(SPEC, payload=json.dumps(payload), secrets=("/payload/codes/7", "/payload/list/0/1"))

    assert result_shown(payload, spec) == {"codes": {"7": MASK}, "list": [[0, MASK]]}


@pytest.mark.parametrize("text", ['{"a": 1e2,  "b":[null,true,"\\u00e9"]}', '"4111"', "123", "null"])
def test_what_holds_no_secret_is_shown_to_the_letter(text: str) -> None:
    """Of a value's beginning nothing can be said; a short number alone is no secret."""
    assert shown(an_execution(result=text), SPEC).result == text


def test_errors_and_checkpoints_are_masked_and_the_rest_is_as_it_was() -> None:
    """The fingerprint too, by which errors are found."""
    error = an_error("Refused4111111111111111", "card 4111111111111111", "at pay(4111111111111111)")
    execution = an_execution(error=error, noted=Noted(progress=0.5, checkpoint='{"card":"4111111111111111"}'))

    told = shown(execution, SPEC)

    assert told.error == replace(error, error_class=f"Refused{MASK}", message=f"card {MASK}", trace=f"at pay({MASK})")
    assert told.noted == Noted(progress=0.5, checkpoint=f'{{"card":"{MASK}"}}')
    assert replace(told, error=error, noted=execution.noted) == execution


def test_masks_make_no_checkpoint_longer_than_one_may_be() -> None:
    """Then it is masked whole."""
    spec = replace(SPEC, payload='{"k":"abcd"}', secrets=("/payload/k",))
    text = json.dumps("abcd" * (limits.CHECKPOINT_BYTES_MAX // 4 - 1))

    told = shown(an_execution(noted=Noted(checkpoint=text)), spec)

    assert told.noted == Noted(checkpoint=json.dumps(MASK))


def test_in_brief_it_has_neither_result_nor_checkpoint() -> None:
    """A list shows neither, and nothing that was not looked through is at hand."""
    execution = an_execution(result='"4111111111111111"', noted=Noted(progress=0.5, checkpoint="1"))

    assert shown_in_brief(execution, SPEC) == replace(execution, result=None, noted=Noted(progress=0.5))


def test_what_is_nested_without_end_is_masked_whole() -> None:
    """A handler's result may be deeper than anybody reads."""
    deep = "[" * 900 + "]" * 900

    assert shown(an_execution(result=deep), SPEC).result in {deep, json.dumps(MASK)}


def test_the_largest_result_is_looked_through_at_once() -> None:
    """For the most values that are looked for: a reader does not wait."""
    spec = replace(SPEC, payload=json.dumps([f"secret-{number:06d}" for number in range(5_000)]), secrets=("/payload",))
    result = json.dumps([f"{number:03d}" for number in range(limits.RESULT_BYTES_MAX // 7)])
    began_s = process_time()

    told = shown(an_execution(result=result), spec)

    assert told.result == result
    assert process_time() - began_s < 2


def test_a_list_of_runs_with_a_large_secret_is_shown_at_once() -> None:
    """What is looked for is found out once, not for each text of each error."""
    spec = replace(SPEC, payload=json.dumps([f"{number:05d}" for number in range(30_000)]), secrets=("/payload",))
    execution = an_execution(error=an_error("Broken", "m" * 1_990 + "00042", "t" * limits.ERROR_TRACE_CHARS_MAX))
    began_s = process_time()

    told = [shown_in_brief(execution, replace(spec)) for _ in range(200)]

    assert all(one.error is not None and one.error.message.endswith(MASK) for one in told)
    assert process_time() - began_s < 2


def test_a_result_of_many_secrets_is_looked_through_at_once() -> None:
    """Each of its values for those alone that it may hold."""
    values = [f"{number:04d}" for number in range(1_000)]
    spec = replace(SPEC, payload=json.dumps(values), secrets=("/payload",))
    result = [*values, *range(3_000)]
    began_s = process_time()

    told = result_shown(result, spec)

    assert told == [MASK] * 1_000 + list(range(3_000))
    assert process_time() - began_s < 1
