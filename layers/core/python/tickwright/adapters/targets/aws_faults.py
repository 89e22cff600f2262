"""What an error of an AWS service says about an attempt: not run, failed for now, or failed for good.

Must not know an operation. Throttled means that nothing was done: no attempt is counted. Whatever may have been done
counts, and comes again under the same executionId. Promise: SEM-TARGET-6.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
)

from tickwright.adapters.aws.faults import THROTTLED, code_of, passing_fault
from tickwright.domain.attempts import Failure, Fatal, NotRun, UserResult, an_error
from tickwright.ports.runner import Invocation

# Beside those that every adapter tries again: credentials that were renewed a moment ago.
_PASSING: Final = frozenset({"ExpiredToken", "RequestExpired"})
# The worker has lost its own rights: that is no fault of the job.
_OF_THE_WORKER: Final = (CredentialRetrievalError, NoCredentialsError, PartialCredentialsError)
# A throttle that says nothing else is asked again after 10 to 30 s, at different times for different executions.
_AFTER_S_MIN: Final = 10.0
_SPREAD_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What a service's own error codes mean beside the usual ones; what is named nowhere goes by its HTTP status."""

    not_run: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    fatal: frozenset[str] = frozenset()  # also where the status says that the server is at fault


def result_of_fault(error: Exception, faults: Faults, invocation: Invocation) -> UserResult:
    """How an attempt ended whose call raised this, one of CALL_ERRORS."""
    if isinstance(error, _OF_THE_WORKER):
        return not_run(invocation)
    if not isinstance(error, ClientError):
        told = an_error(type(error).__name__, str(error))
        return Failure(error=told) if passing_fault(error) is not None else Fatal(error=told)
    code = code_of(error)
    if code in faults.not_run or (code in THROTTLED and code not in faults.fatal):
        return not_run(invocation, _asked_s(error.response))
    told = an_error(code or "UnknownError", str(error))
    passes = code in faults.passing | _PASSING or (code not in faults.fatal and passing_fault(error) is not None)
    return Failure(error=told) if passes else Fatal(error=told)


def not_run(invocation: Invocation, asked_s: float = 0.0) -> NotRun:
    """Nothing was done: the claim goes back, for so long at least, and a herd comes back spread out."""
    named = f"{invocation.execution.ref.id} {invocation.epoch}".encode()
    fraction = int.from_bytes(hashlib.sha256(named).digest()[:4]) / 2**32
    return NotRun(after_s=max(_AFTER_S_MIN, asked_s) + _SPREAD_S * fraction)


def _asked_s(response: Mapping[str, Any]) -> float:
    """Lambda says so in its answer, in seconds, as text."""
    try:
        return max(0.0, float(response.get("retryAfterSeconds", 0)))
    except (TypeError, ValueError):
        return 0.0
