"""What a call of a handler may say of its job beside payload and time, as the API has it.

Must not know who submits. What is left out is as the API has it without. Promise: SEM-SDK-10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast, get_args

from tickwright_sdk.arguments import several

Priority = Literal["high", "normal", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a failure is tried again, and after how long: `initial_s`, then `factor` times longer, up to `max_s`.

    `retry_on`: these error classes alone; `give_up_on`: all but these.
    """

    max_attempts: int = 3
    initial_s: float = 10
    factor: float = 2
    max_s: float = 3_600
    jitter: Literal["full", "none"] = "full"
    retry_on: Sequence[str] = ()
    give_up_on: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Hold names of classes, and not the letters of one."""
        for name in ("retry_on", "give_up_on"):
            object.__setattr__(self, name, several(name, getattr(self, name)))

    def body(self) -> dict[str, Any]:
        """As a job has it."""
        backoff = {"initialSec": self.initial_s, "factor": self.factor, "maxSec": self.max_s, "jitter": self.jitter}
        classes = {"retryOn": list(self.retry_on), "giveUpOn": list(self.give_up_on)}
        return {"maxAttempts": self.max_attempts, "backoff": backoff} | classes


class Terms(TypedDict, total=False):
    """`secrets`: pointers (RFC 6901) to values that nobody is shown, as `/payload/card`; `timeout_s`: of an attempt."""

    name: str
    secrets: Sequence[str]
    retry_policy: RetryPolicy
    timeout_s: int
    priority: Priority


_NAMES = {"name": "name", "secrets": "secrets", "timeout_s": "timeoutSec", "priority": "priority"}


def terms_body(terms: Terms) -> dict[str, Any]:
    """As a job has them. Raises TypeError for what is none of them, ValueError for a priority that is none."""
    policy = terms.get("retry_policy")
    if policy is not None and not isinstance(policy, RetryPolicy):
        raise TypeError(f"retry_policy is a RetryPolicy(...), not {policy!r}")
    given = cast("Mapping[str, Any]", terms)
    if unknown := sorted(given.keys() - Terms.__optional_keys__):
        raise TypeError(
            f"submit() takes no {', '.join(unknown)}; it takes {', '.join(sorted(Terms.__optional_keys__))}"
        )
    if given.get("priority", "normal") not in get_args(Priority):
        raise ValueError(f"priority is one of {', '.join(get_args(Priority))}, not {given['priority']!r}")
    body = {_NAMES[name]: value for name, value in given.items() if name in _NAMES}
    if "secrets" in terms:
        body["secrets"] = list(several("secrets", terms["secrets"]))
    return body | ({} if policy is None else {"retryPolicy": policy.body()})


def without(job: Mapping[str, Any], pointers: Sequence[str]) -> dict[str, Any]:
    """A job's payload and target without the values that these point to: an answer has a mask in their place."""
    seen: dict[str, Any] = {name: job[name] for name in ("payload", "target")}
    for pointer in pointers:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        seen = _without(seen, steps)
    return seen


def _without(value: Any, steps: Sequence[str]) -> Any:  # noqa: ANN401 - JSON
    if not steps:
        return None
    first, rest = steps[0], steps[1:]
    if isinstance(value, dict) and first in value:
        return value | {first: _without(value[first], rest)}
    if isinstance(value, list):
        return [_without(one, rest) if str(at) == first else one for at, one in enumerate(value)]
    return value
