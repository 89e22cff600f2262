"""Is API Gateway's event read as the request that it is, and nothing a client sends taken for the authorizer's word?"""

import base64
from typing import Any

import pytest

from tickwright.api.exchange import Caller, Response
from tickwright.api.gateway import admission, reply_of, request_of
from tickwright.domain.ids import TenantId
from tickwright.domain.tenants import Scope

ARN = "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/live/POST/v1/jobs"
CALLER = Caller(tenant_id=TenantId("acme"), scopes=frozenset({Scope.JOBS_READ, Scope.JOBS_WRITE}), label="ci")


def an_event(**shown: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a REST API sends to a proxy integration."""
    return {
        "httpMethod": "POST",
        "path": "/v1/jobs",
        "resource": "/v1/{proxy+}",
        "multiValueHeaders": {"Content-Type": ["application/json"], "X-Twice": ["a", "b"]},
        "multiValueQueryStringParameters": {"limit": ["1", "2"], "tag": ["x y"]},
        "requestContext": {"identity": {"sourceIp": "203.0.113.7"}, "authorizer": admission(CALLER, ARN)["context"]},
        "body": '{"a":"\u00e9"}',
        "isBase64Encoded": False,
    } | shown


def test_an_event_is_read_as_its_request() -> None:
    """Nothing is lost: not a second value of a parameter, not a header, not the caller."""
    request = request_of(an_event())

    assert (request.method, request.path, request.source_ip) == ("POST", "/v1/jobs", "203.0.113.7")
    assert request.query == (("limit", "1"), ("limit", "2"), ("tag", "x y"))
    assert request.header("Content-Type") == "application/json"
    assert request.header("x-twice") == "a, b"
    assert request.body == '{"a":"\u00e9"}'.encode()
    assert request.caller == CALLER


def test_an_event_of_an_open_path_has_nothing_but_itself() -> None:
    """API Gateway writes null where there is nothing."""
    request = request_of(
        an_event(
            multiValueHeaders=None, multiValueQueryStringParameters=None, body=None, requestContext={"identity": None}
        )
    )

    assert (request.query, dict(request.headers), request.body, request.caller) == ((), {}, b"", None)


def test_a_body_in_base64_is_decoded() -> None:
    """Bytes that are no text are passed on as they are, and refused by the API, not here."""
    request = request_of(an_event(body=base64.b64encode(b"\xff\x00").decode(), isBase64Encoded=True))

    assert request.body == b"\xff\x00"


@pytest.mark.sem("SEM-TENANT-1")
@pytest.mark.parametrize("context", [None, {}, {"tenantId": ""}, {"scopes": "admin"}])
def test_without_the_authorizers_word_there_is_no_caller(context: dict[str, str] | None) -> None:
    """Whatever the headers say."""
    headers = {"Authorization": ["Bearer tw_x"], "tenantId": ["acme"], "X-Tenant-Id": ["acme"]}
    request = request_of(an_event(multiValueHeaders=headers, requestContext={"authorizer": context}))

    assert request.caller is None


def test_the_authorizer_admits_to_the_whole_stage_and_no_other() -> None:
    """Its answer is kept for the key's next request, whichever that is."""
    admitted = admission(CALLER, ARN)

    assert admitted["principalId"] == "acme"
    assert admitted["context"] == {"tenantId": "acme", "scopes": "jobs:read jobs:write", "label": "ci"}
    assert admitted["policyDocument"] == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Action": "execute-api:Invoke",
                "Effect": "Allow",
                "Resource": "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/live/*",
            }
        ],
    }


def test_an_answer_becomes_the_reply() -> None:
    """Text, since all that the API sends is JSON."""
    reply = reply_of(Response(status=304, headers={"ETag": '"x"'}))

    assert reply == {"statusCode": 304, "headers": {"ETag": '"x"'}, "body": "", "isBase64Encoded": False}
