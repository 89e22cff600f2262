"""What a refusal means: a lost race, or our own write whose reply was lost. The item decides, and the change knows how.

Must not know where the item is from: the refusal itself or, where an engine leaves it out, a strong read after it.
Promise: SEM-STORE-5.
"""

from typing import Any, Final

from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.wire import Item
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused

REFUSED_ALONE: Final = "ConditionalCheckFailedException"
REFUSED_TOGETHER: Final = "TransactionCanceledException"
# What a reason within a transaction, and an error within a batch, are called.
CONDITION_FAILED: Final = "ConditionalCheckFailed"
ALREADY_THERE: Final = "DuplicateItem"


def judged(change: AnyChange, request: Request, old: Item | None) -> Outcome[Any]:
    """The outcome of a refused write, by the item that refused it."""
    if old is None:
        return Refused(None)
    entity = request.read(old)
    return Applied(entity) if change.mine(entity) else Refused(entity)
