"""Which requests are the same: the caller's Idempotency-Key, for one method and path, and a hash of the body.

Must not know what a request creates; the store has the records (SEM-IDEM-1).
"""

import base64
import hashlib
import hmac
import json
import re

from tickwright.api.exchange import Request
from tickwright.api.problems import Refused, invalid
from tickwright.domain import limits
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey

NAME = "Idempotency-Key"
_KEY = re.compile(rf"[\x21-\x7E]{{1,{limits.IDEMPOTENCY_KEY_CHARS_MAX}}}")
_MISSING = Refusal(
    code=Code.IDEMPOTENCY_KEY_MISSING,
    detail="Send an Idempotency-Key, fresh for each new request, such as a UUID: then a repeat creates nothing twice.",
)


def required_key(request: Request, value: object) -> RequestKey:
    """The request's key; without one it is refused."""
    key = optional_key(request, value)
    if key is None:
        raise Refused(_MISSING)
    return key


def optional_key(request: Request, value: object) -> RequestKey | None:
    """The request's key, where it was sent."""
    sent = request.header(NAME)
    if sent is None:
        return None
    if not _KEY.fullmatch(sent):
        remedy = f"Send 1 to {limits.IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters without blanks."
        raise invalid(f"header:{NAME}", "bad_value", remedy)
    return RequestKey(key=f"{request.method} {request.path} {sent}", body_hash=_hash(value))


def part_of(whole: RequestKey, index: int, value: object) -> RequestKey:
    """The key of one job of a batch: a job that was refused may be mended and sent again beside those that were not."""
    return RequestKey(key=f"{whole.key} #{index}", body_hash=_hash(value))


def job_id_of(secret: bytes, tenant_id: TenantId, request: RequestKey) -> JobId:
    """The id that any process gives the job of a request, each time that it is sent; nobody outside can foretell it."""
    of = json.dumps(["job", tenant_id, request.key, request.body_hash]).encode()
    digest = hmac.digest(secret, of, hashlib.sha256)
    return _job_id(digest)


def another_job_id(job_id: JobId, asked_at: Instant) -> JobId:
    """The id of a job whose request was told an id that is an older job's; the same each time that it is made."""
    digest = hashlib.sha256(json.dumps(["another", job_id, asked_at]).encode()).digest()
    return _job_id(digest)


def _job_id(digest: bytes) -> JobId:
    return JobId(base64.b32encode(digest[:16]).decode().rstrip("=").lower())


async def first_asked_at(kit: Kit, tenant_id: TenantId, request: RequestKey) -> Instant | None:
    """When a request with this key asked for the job that it created, if one has; it may have landed later."""
    noted = await kit.store.idempotency(tenant_id, request.key)
    if noted is None or not noted.counts(request.as_of(kit.clock.now())):
        return None
    definition = await kit.store.definition(noted.job_id, 1)
    return None if definition is None else definition.created_at


def _hash(value: object) -> str:
    """Of what the body says, not of its blanks and the order of its names."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
