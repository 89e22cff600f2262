"""Who can be asked not to take this machine away while it has runs."""

from typing import Protocol


class Protection(Protocol):
    """The platform that starts and stops machines. Never raises: what is not granted costs no run."""

    async def protect(self, minutes: int) -> str | None:
        """Ask not to be taken away for so long from now; why not, if it was refused or nobody answered."""
        ...

    async def let_go(self) -> str | None:
        """Say that this machine may be taken away; why that was not heard, if so."""
        ...
