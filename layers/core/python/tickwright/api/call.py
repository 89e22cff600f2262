"""What an endpoint is given: the request, read and checked, and who sends it.

Must not know the endpoints.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tickwright.api.exchange import Caller, Request, Response, json_response
from tickwright.api.known_keys import KnownKeys
from tickwright.api.pages import ListName, key_of_token, page_token
from tickwright.api.problems import Refused
from tickwright.domain.allowed_targets import AllowedTargets
from tickwright.domain.executions import Execution
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.tenants import Scope
from tickwright.ports.intake import Intake
from tickwright.ports.second_engine import SecondEngine
from tickwright.ports.status_cache import StatusCache
from tickwright.services.kit import Kit

if TYPE_CHECKING:  # a landing has no model, and must not wait for them
    from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound="BaseModel")

LogLink = Callable[[Execution], str | None]


def _no_link(_execution: Execution) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An installation's API. `behind_gateway`: callers come from API Gateway's authorizer, and from nowhere else.

    `page_secret`: signs the tokens that page through lists; a program that serves no list needs none.
    `second_engine`: whom creation and previews ask beside our own; without one nobody is asked. `targets`: which
    resources of AWS a job may name. `webhook_key`: what the tenants' signing secrets are made from, if any are.
    `log_link`: where a browser finds all that an execution's workers have logged; None where there is no such place.
    `claim_seats`: how many claims of one tenant may wait at a time; None where waiting costs nothing.
    `handlers`: those of `python` targets that its workers have; None where the API does not know them.
    `copies`: of what was shown, for while the store does not answer. `insists_ms`: how long a submission asks the store
    again; then it goes to the `intake`, where there is one.
    """

    kit: Kit
    page_secret: bytes = field(default=b"", repr=False)
    behind_gateway: bool = False
    second_engine: SecondEngine | None = None
    targets: AllowedTargets = field(default_factory=AllowedTargets)
    webhook_key: bytes = field(default=b"", repr=False)
    log_link: LogLink = _no_link
    claim_seats: int | None = None
    handlers: Collection[str] | None = None
    copies: StatusCache | None = None
    insists_ms: int = 0
    intake: Intake | None = None
    known_keys: KnownKeys = field(default_factory=KnownKeys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of one endpoint. `body` and `query` are of the route's models; `value` is the body as it was sent.

    A landing has neither: it is no request of a route, and its body was read when it was accepted.
    """

    api: Api
    request: Request
    request_id: str
    params: Mapping[str, str]
    query: "BaseModel | None"
    body: "BaseModel | None"
    value: object
    maybe_caller: Caller | None

    @property
    def kit(self) -> Kit:
        """The ports."""
        return self.api.kit

    @property
    def caller(self) -> Caller:
        """Who calls; only open endpoints have none."""
        assert self.maybe_caller is not None
        return self.maybe_caller

    @property
    def tenant_id(self) -> TenantId:
        """Whose things are seen: from the credential alone."""
        return self.caller.tenant_id

    def read(self, model: type[ModelT]) -> ModelT:
        """The body as its route's model."""
        assert isinstance(self.body, model)
        return self.body

    def asked(self, model: type[ModelT]) -> ModelT:
        """The query as its route's model."""
        assert isinstance(self.query, model)
        return self.query

    def after_key(self, token: str | None) -> str | None:
        """Where the page that the token stands for begins."""
        return None if token is None else key_of_token(self.page_secret, self._list_name(), token)

    def next_token(self, key: str | None) -> str | None:
        """The token of the next page."""
        return None if key is None else page_token(self.page_secret, self._list_name(), key)

    @property
    def page_secret(self) -> bytes:
        """What signs for this installation."""
        assert self.api.page_secret, "an empty secret would sign what anybody could sign"
        return self.api.page_secret

    def _list_name(self) -> ListName:
        filters = tuple((name, value) for name, value in self.request.query if name not in {"limit", "nextToken"})
        return ListName(tenant_id=self.tenant_id, path=self.request.path, filters=filters)


def check_scope(caller: Caller, scope: Scope) -> None:
    """Refuse a caller whose key lacks a scope."""
    if scope not in caller.scopes:
        detail = f"The API key lacks the scope {scope.value}; use one that has it."
        raise Refused(Refusal(code=Code.FORBIDDEN, detail=detail))


def created(location: str, value: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    """201 of something that has an ETag."""
    return json_response(201, value, {"Location": location, "ETag": str(value["etag"]), **(headers or {})})


def shown(value: Mapping[str, object], cache: str = "private, no-cache") -> Response:
    """200 of something that has an ETag."""
    return json_response(200, value, {"ETag": str(value["etag"]), "Cache-Control": cache, "Vary": "Authorization"})
