"""The front door: what is open, who is asked, and what it says when it refuses by itself."""

import json
from typing import Any

import pytest

from infra.constructs.problem_responses import BODY_BYTES_MAX, PAYLOAD_BYTES_MAX
from infra.policy.checks import FUNCTION
from infra.policy.templates import Templates
from infra.settings import STAGES
from infra.stage_settings import CLAIM_SEATS_MAX, CLAIM_WAIT_S_MAX
from tickwright.api.claims import CLAIMS
from tickwright.api.problems import SHOWN
from tickwright.domain import limits

METHOD = "AWS::ApiGateway::Method"
RESPONSE = "AWS::ApiGateway::GatewayResponse"
MUST_BE_SHAPED = (
    "DEFAULT_4XX",
    "DEFAULT_5XX",
    "UNAUTHORIZED",
    "ACCESS_DENIED",
    "THROTTLED",
    "QUOTA_EXCEEDED",
    "REQUEST_TOO_LARGE",
    "MISSING_AUTHENTICATION_TOKEN",
    "AUTHORIZER_FAILURE",
    "INTEGRATION_TIMEOUT",
    "INTEGRATION_FAILURE",
)


def path_of(templates: Templates, stack: str, resource: Any) -> str:  # noqa: ANN401 - a template is untyped JSON
    address = templates.target(stack, resource)
    if address is None or "PathPart" not in templates.properties(address):
        return ""
    properties = templates.properties(address)
    return f"{path_of(templates, stack, properties['ParentId'])}/{properties['PathPart']}"


def responses(templates: Templates) -> dict[str, dict[str, Any]]:
    return {
        response["Properties"]["ResponseType"]: response["Properties"] for _, response in templates.of_type(RESPONSE)
    }


def test_what_the_gateway_refuses_as_too_large_is_told_the_limits_of_the_product(prod: Templates) -> None:
    """Both: a payload that fits a body may still be too large."""
    told = json.loads(responses(prod)["REQUEST_TOO_LARGE"]["ResponseTemplates"]["application/json"])

    assert (BODY_BYTES_MAX, PAYLOAD_BYTES_MAX) == (limits.BODY_BYTES_MAX, limits.PAYLOAD_BYTES_MAX)
    assert all(str(limit) in told["detail"] for limit in (BODY_BYTES_MAX, PAYLOAD_BYTES_MAX))


def test_only_health_and_the_description_are_open(prod: Templates) -> None:
    """Every other path is behind the authorizer, including those that do not exist."""
    guards = {
        (method["Properties"]["HttpMethod"], path_of(prod, address.stack, method["Properties"]["ResourceId"])): method[
            "Properties"
        ]["AuthorizationType"]
        for address, method in prod.of_type(METHOD)
    }

    assert guards == {
        ("GET", "/v1/health"): "NONE",
        ("GET", "/v1/openapi.json"): "NONE",
        ("ANY", "/v1/{proxy+}"): "CUSTOM",
        ("ANY", "/v1/pools"): "CUSTOM",
        ("ANY", "/v1/pools/{name}"): "CUSTOM",
        ("ANY", "/v1/pools/{name}/claim"): "CUSTOM",
        ("ANY", "/v1/pools/{name}/{proxy+}"): "CUSTOM",
        ("POST", "/v1/pools/{name}/claim"): "CUSTOM",
    }


def test_only_claims_go_to_the_function_for_claims(prod: Templates) -> None:
    """They wait: whatever else went there would wait behind them, and what else they held up is everybody's."""
    served: dict[str, set[tuple[str, str]]] = {}
    for address, method in prod.of_type(METHOD):
        asked = (method["Properties"]["HttpMethod"], path_of(prod, address.stack, method["Properties"]["ResourceId"]))
        served.setdefault(function_of(prod, address.stack, method), set()).add(asked)

    (claim,) = CLAIMS
    assert served.keys() == {"api", "claim"}
    assert served["claim"] == {(claim.method, claim.path)}


def function_of(templates: Templates, stack: str, method: Any) -> str:  # noqa: ANN401 - a template is untyped JSON
    """The folder of the function that a method's integration invokes."""
    (function,) = {
        str(templates.properties(address)["Handler"]).split(".")[1]
        for part in method["Properties"]["Integration"]["Uri"]["Fn::Join"][1]
        if (address := templates.target(stack, part)) is not None
    }
    return function


def test_no_function_is_waited_for_longer_than_the_door_waits(prod: Templates) -> None:
    """A claim that waits as long as it may still has time to claim; else the door would answer in its place."""
    waits_s = {
        function_of(prod, address.stack, method): method["Properties"]["Integration"]["TimeoutInMillis"] / 1_000
        for address, method in prod.of_type(METHOD)
    }
    timeouts_s = {
        function["Properties"]["Handler"].split(".")[1]: function["Properties"]["Timeout"]
        for _, function in prod.of_type(FUNCTION)
    }

    assert (limits.CLAIM_WAIT_S_MAX, limits.SEATS_OF_TENANT_MAX) == (CLAIM_WAIT_S_MAX, CLAIM_SEATS_MAX)
    assert all(timeouts_s[name] < wait_s for name, wait_s in waits_s.items())
    assert timeouts_s["claim"] >= CLAIM_WAIT_S_MAX + 5


def test_a_revoked_key_opens_the_door_for_half_a_minute_at_most(prod: Templates) -> None:
    """The authorizer's answer is cached: that long, and for no longer."""
    ((_, authorizer),) = prod.of_type("AWS::ApiGateway::Authorizer")

    assert authorizer["Properties"]["Type"] == "TOKEN"
    assert authorizer["Properties"]["IdentitySource"] == "method.request.header.Authorization"
    assert 0 < authorizer["Properties"]["AuthorizerResultTtlInSeconds"] <= 30


def test_no_usage_plan_stands_in_for_authentication(prod: Templates) -> None:
    """AWS advises against API Gateway's keys as a proof of who calls."""
    kinds = {resource["Type"] for template in prod.by_stack.values() for resource in template["Resources"].values()}

    assert kinds.isdisjoint({"AWS::ApiGateway::UsagePlan", "AWS::ApiGateway::ApiKey"})


@pytest.mark.parametrize("kind", MUST_BE_SHAPED)
def test_the_door_refuses_as_the_product_does(prod: Templates, kind: str) -> None:
    """A body that is a problem, with the status it is sent with, a code, and what to change."""
    response = responses(prod)[kind]

    problem = json.loads(response["ResponseTemplates"]["application/json"])

    assert response["ResponseParameters"]["gatewayresponse.header.Content-Type"] == "'application/problem+json'"
    assert str(problem["status"]) == response["StatusCode"]
    assert problem["requestId"] == "$context.requestId"
    assert set(problem) == {"type", "title", "status", "code", "detail", "errors", "retryable", "requestId"}


@pytest.mark.parametrize("kind", MUST_BE_SHAPED)
def test_the_door_uses_the_codes_of_the_product(prod: Templates, kind: str) -> None:
    """A client switches on `code`; it must not matter whether the door or the product refused."""
    problem = json.loads(responses(prod)[kind]["ResponseTemplates"]["application/json"])
    shown = {code.value: (look.status, look.title) for code, look in SHOWN.items()}

    # The web ACL and the limits of the whole installation are the door's own.
    of_the_door = {
        "too_many_requests": (429, "Too many requests"),
        "filtered": (403, "The web ACL refused the request"),
    }
    expected = shown | of_the_door

    assert (problem["status"], problem["title"]) == expected[problem["code"]]
    assert problem["type"] == f"urn:tickwright:problem:{problem['code']}"


@pytest.mark.parametrize("kind", MUST_BE_SHAPED)
def test_a_refusal_that_may_be_repeated_says_when(prod: Templates, kind: str) -> None:
    """`retryable` and Retry-After go together, for every client that knows only one of them."""
    response = responses(prod)[kind]

    problem = json.loads(response["ResponseTemplates"]["application/json"])

    assert problem["retryable"] == ("gatewayresponse.header.Retry-After" in response["ResponseParameters"])


def test_an_unknown_path_is_not_found(prod: Templates) -> None:
    """API Gateway calls it a missing token and says 403, which sends a caller looking for the wrong fault."""
    assert responses(prod)["MISSING_AUTHENTICATION_TOKEN"]["StatusCode"] == "404"


def test_every_request_is_logged_once_and_no_body_is(prod: Templates) -> None:
    """Bodies hold tenants' payloads."""
    ((_, stage),) = prod.of_type("AWS::ApiGateway::Stage")
    (settings,) = stage["Properties"]["MethodSettings"]

    line = json.loads(stage["Properties"]["AccessLogSetting"]["Format"])

    assert settings["DataTraceEnabled"] is False
    assert line["tenantId"] == "$context.authorizer.tenantId"
    assert line["requestId"] == "$context.requestId"
    assert stage["Properties"]["TracingEnabled"] is True


def test_the_door_throttles_as_the_stage_says(prod: Templates) -> None:
    """One caller cannot use up what the whole account may receive."""
    ((_, stage),) = prod.of_type("AWS::ApiGateway::Stage")
    (settings,) = stage["Properties"]["MethodSettings"]
    door = STAGES["prod"].api_gateway

    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (door.rate_per_s, door.burst)
