"""Is what a function has said free of secrets, though its log may begin in the middle of one?"""

import base64
import io
from dataclasses import replace

import pytest

from tests.unit.targets.invocations import an_invocation
from tickwright.adapters.targets.lambda_ import LAMBDA
from tickwright.domain.jobs import Target

TARGET = Target(kind="lambda", settings={"functionArn": "arn:aws:lambda:eu-west-1:123456789012:function:f"})


@pytest.mark.sem("SEM-SECRET-1", "SEM-LOG-1")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (b"et-w\xc3\xb6rd" + b"." * 4_089, "********" + "." * 4_089),
        (b"\xb6rd and" + b"." * 4_089, "rd and" + "." * 4_089),
        (b"et-w\xc3\xb6rd and", "et-w\u00f6rd and"),
    ],
)
def test_the_end_of_a_log_begins_with_no_rest_of_a_secret(said: bytes, kept: str) -> None:
    """Lambda hands out the last 4 KB; what is shorter is whole."""
    invocation = an_invocation(TARGET, payload='"the-secret-w\u00f6rd"')
    spec = replace(invocation.definition.spec, secrets=("/payload",))
    invocation = replace(invocation, definition=replace(invocation.definition, spec=spec))
    answer = {"Payload": io.BytesIO(b"null"), "LogResult": base64.b64encode(said).decode()}

    LAMBDA.send(lambda _name, _request: answer, invocation)

    assert invocation.log.tail().text == kept
