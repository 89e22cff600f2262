"""An AWS client whose answers are written down beforehand, and a clock and chance that cost no time.

Must not hold assertions. What a real engine cannot be made to do (lose a reply, throttle one of a batch) is done here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from tickwright.domain.instants import Instant

Answer = Mapping[str, Any] | Exception | Callable[[Mapping[str, Any]], Mapping[str, Any]]


class ScriptedClient:
    """Gives each operation its answers in their order; the last one is given again for ever."""

    def __init__(self, **answers: Sequence[Answer]) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self._answers = {operation: list(given) for operation, given in answers.items()}

    def requests(self, operation: str) -> list[Mapping[str, Any]]:
        """What an operation was asked, in order."""
        return [request for name, request in self.asked if name == operation]

    def __getattr__(self, operation: str) -> Callable[..., Mapping[str, Any]]:
        def call(**request: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any request
            self.asked.append((operation, request))
            answers = self._answers[operation]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer(request) if callable(answer) else answer

        return call


class QuickClock:
    """Sleeping takes no time but on this clock."""

    def __init__(self) -> None:
        self.slept_ms: list[int] = []

    def now(self) -> Instant:
        """The wall clock."""
        return Instant(1_796_083_200_000 + sum(self.slept_ms))

    def monotonic_ms(self) -> int:
        """The clock that only goes forward."""
        return sum(self.slept_ms)

    async def sleep_ms(self, duration_ms: int) -> None:
        """Go forward."""
        self.slept_ms.append(duration_ms)

    async def sleep_until(self, instant: Instant) -> None:
        """Go forward to it."""
        self.slept_ms.append(max(0, instant - self.now()))


class CountingEntropy:
    """Tokens that count, and the same fraction each time."""

    def __init__(self, fraction: float = 0.5) -> None:
        self._tokens = 0
        self._fraction = fraction

    def token(self) -> str:
        """The next token."""
        self._tokens += 1
        return f"token-{self._tokens}"

    def fraction(self) -> float:
        """The fraction."""
        return self._fraction


def error(code: str, *, status: int = 400, **members: object) -> ClientError:
    """An error that a service answers."""
    answer: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **members}
    return ClientError(answer, "Operation")


def timeout() -> ReadTimeoutError:
    """No answer came in time: what was asked may have been done."""
    return ReadTimeoutError(endpoint_url="http://127.0.0.1")
