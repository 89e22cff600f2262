"""Which targets a job may name: each kind's members, beyond their types.

Must not know how a target is run: the adapter of its kind does. Promise: SEM-JOB-3.
"""

import re
from collections.abc import Callable, Mapping

from tickwright.domain import limits
from tickwright.domain.jobs import Target
from tickwright.domain.pools import POOL_TARGET, PYTHON_TARGET, is_pool_name
from tickwright.domain.problems import Problems

_URL = re.compile(r"https?://[^\s/?#]+[^\s]*")
_HANDLER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
# The members that name a resource of the account; each is looked up in the list of what the tenant may name.
ARN_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "lambda": ("functionArn",),
    "sqs": ("queueArn",),
    "eventbridge": ("busArn",),
    "stepFunctions": ("stateMachineArn",),
    "ecsTask": ("clusterArn", "taskDefinitionArn"),
}
# Service, what follows region and account, and how that is told.
_ARN_FORMS: Mapping[str, tuple[str, str, str]] = {
    "functionArn": ("lambda", r"function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9$_-]{1,128})?", "function:NAME"),
    "queueArn": ("sqs", r"[A-Za-z0-9_-]{1,80}(\.fifo)?", "NAME"),
    "busArn": ("events", r"event-bus/[A-Za-z0-9._/-]{1,256}", "event-bus/NAME"),
    "stateMachineArn": ("states", r"stateMachine:[A-Za-z0-9_-]{1,80}(:[A-Za-z0-9_-]{1,80})?", "stateMachine:NAME"),
    "clusterArn": ("ecs", r"cluster/[A-Za-z0-9_-]{1,255}", "cluster/NAME"),
    "taskDefinitionArn": ("ecs", r"task-definition/[A-Za-z0-9_-]{1,255}(:\d{1,9})?", "task-definition/FAMILY"),
}
# What is told beside the payload takes under this; a payload has the rest of what the service takes.
_ENVELOPE_BYTES = 1_024
_PAYLOAD_BYTES_MAX: Mapping[str, int] = {
    "stepFunctions": 262_144 - _ENVELOPE_BYTES - limits.CHECKPOINT_BYTES_MAX,  # the input of an execution
    "ecsTask": (8_192 - 2 * _ENVELOPE_BYTES) // 2,  # all overrides together; each quote in it takes two characters
}

Settings = Mapping[str, object]


def read_target(problems: Problems, source: Mapping[str, object]) -> Target:
    """The target that a body describes; what is wrong with it is added to the problems."""
    kind = source.get("type")
    settings = {name: value for name, value in source.items() if name != "type" and value is not None}
    check = _CHECKS.get(kind) if isinstance(kind, str) else None
    if check is None:
        known = ", ".join(_CHECKS)
        problems.add("/target/type", "unknown_value", f"{kind!r} is none of {known}; use one of them.")
    else:
        check(problems, settings)
        for name in ARN_MEMBERS.get(str(kind), ()):
            _check_arn(problems, name, settings.get(name))
    return Target(kind=str(kind), settings=settings)


def payload_bytes_max(target: Target) -> int:
    """How large a payload the target can be told."""
    return min(limits.PAYLOAD_BYTES_MAX, _PAYLOAD_BYTES_MAX.get(target.kind, limits.PAYLOAD_BYTES_MAX))


def _check_http(problems: Problems, settings: Settings) -> None:
    url = settings.get("url")
    if (
        not isinstance(url, str)
        or len(url) > limits.URL_CHARS_MAX
        or not _URL.fullmatch(url)
        or "@" in url.split("/")[2]
    ):
        advice = "is not an http or https URL without credentials; write it as https://example.com/path."
        problems.add("/target/url", "invalid_url", f"{str(url)[:100]!r} {advice}")


def _check_python(problems: Problems, settings: Settings) -> None:
    handler = settings.get("handler")
    if not isinstance(handler, str) or len(handler) > limits.NAME_CHARS_MAX or not _HANDLER.fullmatch(handler):
        problems.add(
            "/target/handler", "invalid_name", f"{str(handler)[:100]!r} is not a handler's name, as billing.nightly."
        )


def _check_pool(problems: Problems, settings: Settings) -> None:
    if not is_pool_name(str(settings.get("pool"))):
        advice = f"{str(settings.get('pool'))[:100]!r} is not the name of a pool of yours, as gpu."
        problems.add("/target/pool", "invalid_name", advice)
    _check_python(problems, settings)


def _check_lambda(problems: Problems, settings: Settings) -> None:
    if "completion" in settings and settings.get("invocation") != "event":
        advice = "completion belongs to invocation event: the answer of any other ends the attempt; leave it out."
        problems.add("/target/completion", "not_applicable", advice)


def _nothing_more(_problems: Problems, _settings: Settings) -> None:
    """What its shape asks for is all."""


def _check_eventbridge(problems: Problems, settings: Settings) -> None:
    if str(settings.get("source", "")).lower().startswith("aws."):
        problems.add("/target/source", "bad_value", "Sources that begin with aws. are AWS's own; use another.")


def _check_ecs(problems: Problems, settings: Settings) -> None:
    if "launchType" in settings and "capacityProvider" in settings:
        problems.add("/target/capacityProvider", "not_applicable", "It excludes launchType; leave out one of the two.")


def _check_arn(problems: Problems, name: str, value: object) -> None:
    service, resource, told = _ARN_FORMS[name]
    form = rf"arn:aws[a-z-]*:{service}:[a-z0-9-]+:\d{{12}}:{resource}"
    if not isinstance(value, str) or not re.fullmatch(form, value):
        advice = f"write it as arn:aws:{service}:REGION:ACCOUNT:{told}."
        problems.add(f"/target/{name}", "invalid_arn", f"{str(value)[:100]!r} is no such ARN; {advice}")


_CHECKS: Mapping[str, Callable[[Problems, Settings], None]] = {
    "http": _check_http,
    PYTHON_TARGET: _check_python,
    POOL_TARGET: _check_pool,
    "lambda": _check_lambda,
    "sqs": _nothing_more,
    "eventbridge": _check_eventbridge,
    "stepFunctions": _nothing_more,
    "ecsTask": _check_ecs,
}
