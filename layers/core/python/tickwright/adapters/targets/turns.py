"""Whether a call was begun in its thread before whoever waits for it gave up: one of the two, and never both.

Must not know what is called. What never began has done nothing, and counts as no attempt. Promise: SEM-TARGET-6.
"""


class Turn:
    """One call's: the first to take it has it, from any thread, since a touch of the list is one step."""

    def __init__(self) -> None:
        self._left = [None]

    def take(self) -> bool:
        """Whether it was still to be had: the thread takes it to begin, its caller to have the call never begin."""
        try:
            self._left.pop()
        except IndexError:
            return False
        return True
