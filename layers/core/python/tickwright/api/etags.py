"""Which version of a thing an answer shows, and whether the caller still has it.

Must not know a store. A job's ETag is `"version.hash"`: the hash tells a poller that anything has changed (the
scheduler moves nextRunAt), the version tells an editor that nobody else has edited. Promise: SEM-API-4.
"""

import hashlib
import re

from tickwright.api.exchange import Request
from tickwright.api.problems import Refused, invalid
from tickwright.domain.outcomes import Code, Refusal

_ONE = re.compile(r'\s*(W/)?"([\x21\x23-\x7E]*)"\s*')
_EACH = re.compile(r'"([\x21\x23-\x7E]*)"')  # no blanks: a long run of them would be tried from each of its places
_VERSION = re.compile(r"(\d{1,15})(?:\.[0-9a-f]+)?")
ANY = "*"
_MISSING = Refusal(
    code=Code.IF_MATCH_MISSING,
    detail="Read the job, then send its ETag as If-Match: so that an edit of somebody else is not overwritten.",
)
_CONFLICT = Refusal(
    code=Code.VERSION_CONFLICT, detail="The If-Match names another version; read it again and repeat the edit on that."
)


def etag_of(body: bytes, version: int | None = None) -> str:
    """A strong ETag: of the version, where there is one, and of every byte shown."""
    digest = hashlib.sha256(body).hexdigest()[:16]
    return f'"{digest}"' if version is None else f'"{version}.{digest}"'


def is_current(request: Request, etag: str) -> bool:
    """Whether If-None-Match names what would be sent; compared weakly, as RFC 9110 asks."""
    sent = request.header("if-none-match")
    if sent is None:
        return False
    return sent.strip() == ANY or etag.strip('"') in _EACH.findall(sent)


def version_demanded(request: Request) -> int | None:
    """The version that If-Match names; None where it was not sent, or is `*`: any that exists."""
    sent = request.header("if-match")
    if sent is None or sent.strip() == ANY:
        return None
    one = _ONE.fullmatch(sent)
    if one is None:
        raise invalid("header:If-Match", "bad_value", 'Send one ETag as it was given, such as "3.0f1e2d3c4b5a6978".')
    version = _VERSION.fullmatch(one[2])
    if one[1] or version is None:
        # A weak or a foreign tag matches nothing (RFC 9110 asks for the strong comparison).
        raise Refused(_CONFLICT)
    return int(version[1])


def require_if_match(request: Request) -> None:
    """Refuse an edit that does not say what it was made from."""
    if request.header("if-match") is None:
        raise Refused(_MISSING)
