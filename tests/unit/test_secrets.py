"""Are secrets found wherever a job has them, masked wherever it is shown, and kept when it is edited?"""

import json
from dataclasses import replace
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_definition
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, an_error
from tickwright.domain.jobs import JobSpec, Target
from tickwright.domain.outcomes import FieldProblem
from tickwright.domain.problems import Problems
from tickwright.domain.secrets import (
    MASK,
    edit_problems,
    is_secret_header,
    masked,
    masked_payload,
    read_secrets,
    scrubbed,
    secret_members,
    without_secrets,
)

pytestmark = pytest.mark.sem("SEM-SECRET-1")

PAYLOAD = {"card": {"number": "4111-1111", "cvc": 7}, "a/b": {"~c": ["first", "second"]}, "note": "hello"}
HEADERS = {"Authorization": "Bearer s3cr3t-t0k3n", "X-Trace": "on"}


def a_spec(*secrets: str, payload: object = PAYLOAD, **settings: object) -> JobSpec:
    """A job that POSTs the payload."""
    target = Target(kind="http", settings={"url": "https://example.com/hook/abcd", "headers": HEADERS} | settings)
    return replace(a_definition().spec, target=target, payload=json.dumps(payload), secrets=secrets)


def read(*secrets: str, payload: object = PAYLOAD, headers: object = HEADERS) -> list[FieldProblem]:
    """What is wrong with these secrets."""
    problems = Problems()
    target = Target(kind="http", settings={"url": "https://example.com", "headers": headers})
    read_secrets(problems, list(secrets), target=target, payload=payload)
    return problems.found


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "COOKIE",
        "Proxy-Authorization",
        "x-api-key",
        "X-Auth-Token",
        "Client-Secret",
        "Api-Key",
        "token",
        "X-ApiKey",
        "X_API_KEY",
        "Api_Key",
        "X-Auth",
        "X-AuthToken",
        "X-Passwd",
        "X-Signature",
        "X-Hub-Signature-256",
    ],
)
def test_a_header_whose_name_says_so_is_secret(name: str) -> None:
    """In whatever case it is written."""
    assert is_secret_header(name)


@pytest.mark.parametrize(
    "name", ["X-Trace", "Accept", "X-Tokens", "Keyboard", "Cookies-Allowed", "X-Secretary", "X-Author", "X-Monkey"]
)
def test_a_header_with_another_name_is_shown(name: str) -> None:
    """What is masked without need helps nobody who looks for a fault."""
    assert not is_secret_header(name)


def test_what_is_named_is_masked_and_all_else_is_shown() -> None:
    """Members, elements of lists, steps that hold `/` and `~`, and a whole object."""
    shown = masked(a_spec("/payload/card/number", "/payload/a~1b/~0c/1", "/target/url"))

    assert json.loads(shown.payload) == {
        "card": {"number": MASK, "cvc": 7},
        "a/b": {"~c": ["first", MASK]},
        "note": "hello",
    }
    assert shown.target.settings == {"url": MASK, "headers": {"Authorization": MASK, "X-Trace": "on"}}


def test_a_secret_may_be_an_object_or_the_whole_payload() -> None:
    """Nothing of it is shown, not even its names; a pointer below it changes nothing."""
    inside = masked(a_spec("/payload/card", "/payload/card/number"))
    whole = masked(a_spec("/payload"))

    assert json.loads(inside.payload) == PAYLOAD | {"card": MASK}
    assert json.loads(whole.payload) == MASK


def test_what_another_version_calls_secret_is_masked_too() -> None:
    """One that was declared later is hidden in the versions before; one that leads nowhere there is no fault."""
    shown = masked(a_spec(), ["/payload/card/cvc", "/payload/new"])

    assert json.loads(shown.payload) == PAYLOAD | {"card": {"number": "4111-1111", "cvc": MASK}}


def test_a_job_without_secrets_is_shown_as_it_is() -> None:
    """To the letter of its payload."""
    spec = a_spec(headers={"X-Trace": "on"})

    assert masked(spec) == spec


@pytest.mark.parametrize(
    ("pointer", "code"),
    [
        ("payload/card", "bad_pointer"),
        ("", "bad_pointer"),
        ("/name", "bad_pointer"),
        ("/payload/~2", "bad_pointer"),
        ("/payloads", "bad_pointer"),
        ("/payload/" + "x" * 256, "bad_pointer"),
        ("/payload/card/expiry", "leads_nowhere"),
        ("/payload/note/x", "leads_nowhere"),
        ("/payload/a~1b/~0c/2", "leads_nowhere"),
        ("/payload/a~1b/~0c/-", "leads_nowhere"),
        ("/payload/a~1b/~0c/01", "leads_nowhere"),
        ("/payload/", "leads_nowhere"),
        ("/target", "leads_nowhere"),
        ("/target/type", "leads_nowhere"),
        ("/target/headers/authorization", "leads_nowhere"),
    ],
)
def test_a_pointer_that_would_hide_nothing_is_refused(pointer: str, code: str) -> None:
    """A typing error must not look like a hidden secret."""
    assert [(problem.pointer, problem.code) for problem in read(pointer)] == [("/secrets/0", code)]


def test_twenty_secrets_are_enough() -> None:
    """One that is named twice counts once."""
    payload = {str(number): number for number in range(21)}
    pointers = [f"/payload/{number}" for number in range(21)]

    assert read(*pointers[:20], *pointers[:20], payload=payload) == []
    assert [problem.code for problem in read(*pointers, payload=payload)] == ["too_many"]


@pytest.mark.parametrize("holds", [MASK, {"deep": [MASK]}, [1, MASK]])
def test_the_mask_is_no_value_of_a_secret(holds: object) -> None:
    """Whoever sends it has read the job from us: the secret would be lost."""
    found = read("/payload/card", payload={"card": holds})
    elsewhere = read("/payload/card", payload={"card": 1, "note": MASK})
    header = read(headers={"X-Api-Key": MASK})

    assert [(problem.pointer, problem.code) for problem in found] == [("/payload/card", "masked_value")]
    assert elsewhere == []
    assert [(problem.pointer, problem.code) for problem in header] == [("/target/headers/X-Api-Key", "masked_value")]


def codes(old: JobSpec, new: JobSpec) -> list[tuple[str, str]]:
    """What an edit is refused for."""
    return [(problem.pointer, problem.code) for problem in edit_problems(old, new)]


def test_a_secret_is_not_brought_to_light_by_an_edit() -> None:
    """It stays one until it has another value: dropped from the list, or only a part of it named."""
    old = a_spec("/payload/card")

    assert codes(old, a_spec()) == [("/payload/card", "still_secret")]
    assert codes(old, a_spec("/payload/card/number")) == [("/payload/card", "still_secret")]
    assert codes(old, a_spec("/payload/card")) == []
    assert codes(old, a_spec("/payload")) == []
    assert codes(old, a_spec(payload=PAYLOAD | {"card": "another"})) == []
    assert codes(old, a_spec(payload={"note": "hello"})) == []


def test_no_part_of_a_secret_is_brought_to_light_by_an_edit() -> None:
    """A member that is left, wherever below the pointer it stands, beside others that are new."""
    old = a_spec("/payload/card")
    card = {"number": "4111-1111", "cvc": 7}
    shown = [card | {"x": 1}, {"number": "4111-1111"}, {"other": "4111-1111"}, [7], "4111-1111", {"deep": [7, None]}]

    for value in shown:
        assert codes(old, a_spec(payload=PAYLOAD | {"card": value})) == [("/payload/card", "still_secret")]
    still = a_spec("/payload/card/number", "/payload/card/cvc", payload=PAYLOAD | {"card": card | {"x": 1}})
    assert codes(old, still) == []


def test_what_anything_may_have_for_a_value_is_looked_for_in_its_place_alone() -> None:
    """Null, a truth value and what is empty tell nothing elsewhere."""
    old = a_spec("/payload/card", payload={"card": {"valid": True, "note": "", "tags": []}})

    assert codes(old, a_spec(payload={"card": {"fresh": True, "memo": "", "list": []}})) == []
    assert codes(old, a_spec(payload={"card": {"valid": True}})) == [("/payload/card", "still_secret")]
    assert codes(old, a_spec(payload={"card": {"tags": []}})) == [("/payload/card", "still_secret")]
    assert codes(old, a_spec(payload={"card": {"valid": 1}})) == []


def test_an_edit_does_not_take_the_mask_for_a_value() -> None:
    """Also where it no longer calls the place a secret."""
    old = a_spec("/payload/card/number")
    masks = PAYLOAD | {"card": {"number": MASK}}

    assert codes(old, a_spec(payload=masks)) == [("/payload/card/number", "masked_value")]
    assert codes(a_spec(), a_spec(payload=masks)) == []


def test_text_is_scrubbed_of_secrets_as_they_may_stand_in_it() -> None:
    """Alone, with its scheme, in JSON, as a number, and as the path of a URL that is one."""
    payload = {"word": 'say "Größe"', "number": 41111111, "short": "abc"}
    spec = a_spec("/payload/word", "/payload/number", "/payload/short", "/target/url", payload=payload)
    said = [
        "Authorization: Bearer s3cr3t-t0k3n",
        "token=s3cr3t-t0k3n;",
        'he did say "Größe"',
        json.dumps({"word": payload["word"]}),
        json.dumps({"word": payload["word"]}, ensure_ascii=False),
        "number 41111111",
        "GET /hook/abcd of https://example.com/hook/abcd",
        "abc stays, as does on",
    ]

    assert [scrubbed(text, spec) for text in said] == [
        f"Authorization: {MASK}",
        f"token={MASK};",
        f"he did {MASK}",
        f'{{"word": "{MASK}"}}',
        f'{{"word": "{MASK}"}}',
        f"number {MASK}",
        f"GET /{MASK} of {MASK}",
        "abc stays, as does on",
    ]


def test_a_text_that_was_cut_within_a_secret_shows_no_rest_of_it() -> None:
    """The end of a log may begin anywhere."""
    spec = a_spec()

    assert scrubbed("3cr3t-t0k3n sent", spec, is_cut=True) == f"{MASK} sent"
    assert scrubbed("k3n sent", spec, is_cut=True) == "k3n sent"  # too short to tell
    assert scrubbed("3cr3t-t0k3n sent", spec) == "3cr3t-t0k3n sent"


def test_a_text_that_was_cut_within_a_secret_shows_no_beginning_of_it() -> None:
    """The longest that it may be."""
    spec = a_spec()

    assert scrubbed("sent s3cr3t-t0k", spec, goes_on=True) == f"sent {MASK}"
    assert scrubbed("sent Bearer s3cr3t", spec, goes_on=True) == f"sent {MASK}"
    assert scrubbed("sent s3cr3t-s3cr", spec, goes_on=True) == f"sent s3cr3t-{MASK}"
    assert scrubbed("sent s3c", spec, goes_on=True) == "sent s3c"  # too short to tell
    assert scrubbed("s3cr3t-t0k", spec, goes_on=True) == MASK
    assert scrubbed("sent s3cr3t-t0k", spec) == "sent s3cr3t-t0k"


@pytest.mark.parametrize("before", [0, 110, 1_990])
def test_an_error_shows_no_part_of_a_secret(before: int) -> None:
    """In its class, its message and its trace, each of which is cut before it is here."""
    token = "s3cr3t-t0k3n"
    error = an_error("." * before + token, "." * before + token, token + "." * (limits.ERROR_TRACE_CHARS_MAX - 8))
    result = without_secrets(Failure(error=error), a_spec())

    assert isinstance(result, Failure)
    assert "s3cr" not in result.error.error_class + result.error.message
    assert "t0k3n" not in result.error.trace
    assert result.error.message.endswith(MASK)


def test_a_large_secret_costs_no_time() -> None:
    """As much of it is compared as the text is long."""
    large = "ab" * 62_500 + "aab" * 41_666
    spec = a_spec("/payload/large", payload={"large": large})
    text = large[-16_000:]
    began = process_time()

    assert scrubbed(text + "!", spec, is_cut=True) == f"{MASK}!"
    assert scrubbed(large[:16_000], spec, goes_on=True) == MASK
    assert process_time() - began < 1


def test_pointers_that_lie_within_each_other_cost_no_time() -> None:
    """A value is looked through once, however many of them lead into it: to be judged, to be sought, to be masked."""
    value: object = list(range(40_000))
    for _ in range(limits.SECRETS_EVER_MAX):
        value = {"a": value}
    pointers = tuple("/payload" + "/a" * depth for depth in range(1, limits.SECRETS_EVER_MAX + 1))
    whole, inner = a_spec(*pointers, payload=value), a_spec(*pointers[-limits.SECRETS_MAX :], payload=value)
    began = process_time()

    assert edit_problems(whole, inner, pointers) == ()
    assert [problem.code for problem in edit_problems(whole, a_spec(payload=value), pointers)] == ["still_secret"]
    assert masked(whole).payload == json.dumps({"a": MASK}, separators=(",", ":"))
    assert len(secret_members(whole)) > 40_000
    assert scrubbed("from 10042 to 38000", whole) == f"from {MASK} to 38000"  # the thousand longest
    assert process_time() - began < 10  # it took minutes


def test_many_masks_in_one_list_cost_no_time() -> None:
    """A list is copied once for each of those that are masked, not gone through."""
    pointers = [f"/payload/{number}" for number in range(limits.SECRETS_EVER_MAX)]
    payload = json.dumps([0] * 120_000)
    began = process_time()

    for _ in range(5):
        assert masked_payload(payload, pointers).count(MASK) == len(pointers)
    assert process_time() - began < 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(max_size=4), children),
    max_leaves=12,
)


def places_in(value: object, at: str = "/payload") -> list[str]:
    """Every pointer there is."""
    below: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    steps = [(str(step).replace("~", "~0").replace("/", "~1"), child) for step, child in below]
    return [at, *(place for step, child in steps for place in places_in(child, f"{at}/{step}"))]


@given(value=JSON, data=st.data())
def test_whatever_is_named_is_found_and_is_gone_from_what_is_shown(value: object, data: st.DataObject) -> None:
    """A marker put into any place of any payload is in no answer once the place is named."""
    place = data.draw(st.sampled_from(places_in(value)))
    marked = {"payload": value}
    steps = [step.replace("~1", "/").replace("~0", "~") for step in place.split("/")[1:]]
    holder: Any = marked
    for step in steps[:-1]:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    holder[int(steps[-1]) if isinstance(holder, list) else steps[-1]] = {"deep": "the-marker"}

    assert read(place, payload=marked["payload"]) == []
    shown = masked_payload(json.dumps(marked["payload"]), [place])

    assert "the-marker" not in shown
    assert shown.count(MASK) >= 1
