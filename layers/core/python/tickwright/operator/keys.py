"""`keys make`, `keys list`, `keys revoke`: who may call an installation.

A tenant is there as soon as a key of it is; nothing else makes one. A secret is printed once, by itself, so that a
shell can keep it, and is kept nowhere. Must not know where keys are kept. Promise: SEM-KEY-1.
"""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import timedelta

from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.tenants import ApiKey, Scope
from tickwright.operator.commands import Command
from tickwright.operator.deletions import is_being_deleted
from tickwright.services.keys import key_id, keys_of, revoke_key
from tickwright.services.tenants import every_key
from tickwright.wiring.operator import Installed

USUAL = frozenset(Scope) - {Scope.ADMIN}
NOT_FOUND = 1
UNREADABLE = 1
BEING_DELETED = 1
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TENANT_SAYS = "letters, digits, - and _, up to 64 in all, a letter or a digit first"
_DAY_MS = timedelta(days=1) // timedelta(milliseconds=1)
_DAYS_MAX = 3_650


def tenant(text: str) -> TenantId:
    """A tenant's name."""
    if _TENANT.fullmatch(text) is None:
        raise ArgumentTypeError(f"{text!r} is no tenant's name: {_TENANT_SAYS}")
    return TenantId(text)


def scopes(text: str) -> frozenset[Scope]:
    """Scopes with commas between them."""
    known = {scope.value: scope for scope in Scope}
    named = [one.strip() for one in text.split(",")]
    for one in named:
        if one not in known:
            raise ArgumentTypeError(f"{one!r} is no scope; there are {', '.join(known)}")
    return frozenset(known[one] for one in named)


def days(text: str) -> int:
    """Whole days, up to ten years."""
    if not text.isdecimal() or not 1 <= int(text) <= _DAYS_MAX:
        raise ArgumentTypeError(f"{text!r} is no number of days from 1 to {_DAYS_MAX}")
    return int(text)


def add_tenant(parser: ArgumentParser) -> None:
    """Whose."""
    parser.add_argument("--tenant", type=tenant, required=True, help="the tenant")


def add_scopes(parser: ArgumentParser) -> None:
    """What a key may do."""
    usual = ",".join(sorted(scope.value for scope in USUAL))
    known = ",".join(scope.value for scope in Scope)
    parser.add_argument("--scopes", type=scopes, default=USUAL, help=f"of {known} (default: {usual})")


def _add_make(parser: ArgumentParser) -> None:
    add_tenant(parser)
    add_scopes(parser)
    parser.add_argument("--label", default="made by the operator", help="what it is for (default: %(default)s)")
    parser.add_argument("--days", type=days, help="it ends after so many days (default: never)")


async def _make(installed: Installed, asked: Namespace) -> int:
    kit = installed.kit
    if await is_being_deleted(installed, asked.tenant):
        return BEING_DELETED
    ends = None if asked.days is None else Instant(kit.clock.now() + asked.days * _DAY_MS)
    secret, key = await make_key(
        kit, asked.tenant, scopes=asked.scopes, label=asked.label, expires_at=ends, made_by=installed.caller()
    )
    if await is_being_deleted(installed, asked.tenant):  # begun meanwhile: whether it has seen the key is not known
        await revoke_key(kit, asked.tenant, key_id(key))
        return BEING_DELETED
    print(f"key {key_id(key)} of {key.tenant_id}; its secret is shown this once:", file=sys.stderr)
    print(secret)
    return 0


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument("--tenant", type=tenant, help="the tenant (default: all, which reads the whole table Control)")
    parser.epilog = (
        "A line a key: its id, valid or over, when it was made, when it ends, what it may do, who made it, what it "
        "is for; of all tenants' keys with the tenant in front, in no order."
    )


async def _list(installed: Installed, asked: Namespace) -> int:
    now = installed.kit.clock.now()
    if asked.tenant is None:
        return await _list_all(installed, now)
    for key in await keys_of(installed.kit, asked.tenant):
        print(_told(key, now))
    return 0


async def _list_all(installed: Installed, now: Instant) -> int:
    """Each page as it comes: there may be more than anybody wants to wait for."""
    unreadable = 0
    async for page in every_key(installed.kit, installed.whole):
        unreadable += len(page.unreadable)
        for key in page.items:
            print(key.tenant_id, _told(key, now), sep="  ", flush=True)
    return told_unreadable(unreadable)


def told_unreadable(records: int) -> int:
    """The exit status: a list that lacks something is not taken for a whole one."""
    if not records:
        return 0
    print(
        f"tickwright: {records} records were not read: this version does not know them; list with the one that is "
        "deployed",
        file=sys.stderr,
    )
    return UNREADABLE


def _told(key: ApiKey, now: Instant) -> str:
    """One line: its id, whether it opens the door, since when, until when, what it may do, who made it, what for."""
    state = "valid" if key.is_valid(now) else "over"
    until = "-" if key.expires_at is None else to_rfc3339(key.expires_at)
    may = ",".join(sorted(scope.value for scope in key.scopes))
    return "  ".join((key_id(key), state, to_rfc3339(key.created_at), until, may, key.made_by or "-", key.label))


def _add_revoke(parser: ArgumentParser) -> None:
    add_tenant(parser)
    parser.add_argument("--key", required=True, help="its id, as `keys list` shows it")


async def _revoke(installed: Installed, asked: Namespace) -> int:
    key = await revoke_key(installed.kit, asked.tenant, asked.key)
    if key is None:
        print(f"tickwright: {asked.tenant} has no key {asked.key}", file=sys.stderr)
        return NOT_FOUND
    print(_told(key, installed.kit.clock.now()))
    return 0


COMMANDS = (
    Command(words=("keys", "make"), says="make an API key, and so a tenant", arguments=_add_make, does=_make),
    Command(words=("keys", "list"), says="show a tenant's keys, or all", arguments=_add_list, does=_list),
    Command(words=("keys", "revoke"), says="end a key now", arguments=_add_revoke, does=_revoke),
)
