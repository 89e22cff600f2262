"""From API Gateway's event (REST API, proxy integration) to a request, and from an answer to its reply.

Must not know the endpoints. The caller is what the authorizer says (`requestContext.authorizer`), and nothing that a
client can send (SEM-TENANT-1).
"""

import base64
from collections.abc import Mapping
from typing import Any

from tickwright.api.exchange import Caller, Request, Response
from tickwright.domain.ids import TenantId
from tickwright.domain.tenants import Scope

Event = Mapping[str, Any]


def request_of(event: Event) -> Request:
    """The request that an event carries."""
    context = event["requestContext"]
    return Request(
        method=event["httpMethod"],
        path=event["path"],
        query=tuple(
            (name, value)
            for name, values in (event.get("multiValueQueryStringParameters") or {}).items()
            for value in values
        ),
        headers={name.lower(): ", ".join(values) for name, values in (event.get("multiValueHeaders") or {}).items()},
        body=_body(event),
        source_ip=(context.get("identity") or {}).get("sourceIp") or "",
        caller=_caller(context.get("authorizer")),
    )


def reply_of(response: Response) -> dict[str, object]:
    """The reply that API Gateway makes an answer of."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body.decode(),
        "isBase64Encoded": False,
    }


def admission(caller: Caller, method_arn: str) -> dict[str, object]:
    """The authorizer's yes: to every method of the stage, since API Gateway keeps it for the key's next request."""
    stage = "/".join(method_arn.split("/")[:2])
    statement = {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": f"{stage}/*"}
    scopes = " ".join(sorted(scope.value for scope in caller.scopes))
    return {
        "principalId": caller.tenant_id,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        # Flat text is all that API Gateway passes on.
        "context": {"tenantId": caller.tenant_id, "scopes": scopes, "label": caller.label},
    }


def _caller(context: Event | None) -> Caller | None:
    if not context or not context.get("tenantId"):
        return None
    scopes = frozenset(Scope(name) for name in str(context.get("scopes") or "").split())
    return Caller(tenant_id=TenantId(context["tenantId"]), scopes=scopes, label=str(context.get("label") or ""))


def _body(event: Event) -> bytes:
    text = event.get("body") or ""
    return base64.b64decode(text) if event.get("isBase64Encoded") else text.encode()
