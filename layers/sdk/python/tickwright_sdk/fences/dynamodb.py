"""The fence in a DynamoDB write: one condition, and the number set by the same write.

Must not know botocore: a boto3 client is used as it was given. An item that is deleted has forgotten its fence, so that
a zombie's later write would pass: `bury` leaves a tombstone instead. Promise: SEM-SDK-12.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Never, Protocol

from tickwright_sdk.arguments import several
from tickwright_sdk.fences import Fence, FenceRefused

ATTRIBUTE = "fence"
_CONDITION = "(attribute_not_exists(#twFence) OR #twFence <= :twFence)"
_LOST = "ConditionalCheckFailed"
_SETS = re.compile(r"SET\s+", re.IGNORECASE)


class DynamoDB(Protocol):
    """A boto3 client of DynamoDB."""

    @property
    def exceptions(self) -> Any:  # noqa: ANN401 - made at run time by botocore
        """Its exception classes."""
        ...

    @property
    def put_item(self) -> Callable[..., Any]:
        """Put."""
        ...

    @property
    def update_item(self) -> Callable[..., Any]:
        """Update."""
        ...

    @property
    def transact_write_items(self) -> Callable[..., Any]:
        """Several writes, all or none."""
        ...


def put(client: DynamoDB, request: Mapping[str, Any], fence: Fence) -> Any:  # noqa: ANN401 - botocore's answer
    """PutItem, fenced: `request` as put_item takes it. Raises FenceRefused if a later attempt has written the item."""
    whole = _with_condition(request, fence)
    whole["Item"] = {**request["Item"], ATTRIBUTE: _number(fence)}
    return _send(client, client.put_item, whole, fence)


def update(client: DynamoDB, request: Mapping[str, Any], fence: Fence) -> Any:  # noqa: ANN401 - botocore's answer
    """UpdateItem, fenced: `request` as update_item takes it. Raises FenceRefused if a later attempt has written it."""
    whole = _with_condition(request, fence)
    asked = str(request.get("UpdateExpression", "")).strip()
    sets = _SETS.match(asked)
    # A clause may stand once: where the caller's begins with SET, the fence joins it.
    rest = f" {asked}" if sets is None else f", {asked[sets.end() :]}"
    whole["UpdateExpression"] = f"SET #twFence = :twFence{rest}".strip()
    return _send(client, client.update_item, whole, fence)


def bury(client: DynamoDB, table: str, key: Mapping[str, Any], fence: Fence, *, remove: Sequence[str] = ()) -> None:
    """In place of DeleteItem: the item stays with `deleted` and its fence, without the attributes in `remove`.

    A time to live may take the tombstone away once no attempt of its owner can be alive.
    """
    remove = several("remove", remove)
    names = {"#deleted": "deleted"} | {f"#r{place}": name for place, name in enumerate(remove)}
    removed = f" REMOVE {', '.join(f'#r{place}' for place in range(len(remove)))}" if remove else ""
    request = {
        "TableName": table,
        "Key": dict(key),
        "UpdateExpression": "SET #deleted = :yes" + removed,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {":yes": {"BOOL": True}},
    }
    update(client, request, fence)


def transact(
    client: DynamoDB, items: Sequence[Mapping[str, Any]], fence: Fence, *, table: str, key: Mapping[str, Any]
) -> Any:  # noqa: ANN401 - botocore's answer
    """TransactWriteItems behind a guard item: it alone holds the fence, the other items are as they please.

    For several items at once, and for new ones under keys of their own, which have no earlier fence. `key` is the
    guard's: one for each owner of a fence, such as `FENCE#<executionId>`.
    """
    guard = {
        "TableName": table,
        "Key": dict(key),
        "UpdateExpression": "SET #twFence = :twFence",
        "ConditionExpression": _CONDITION,
        "ExpressionAttributeNames": {"#twFence": ATTRIBUTE},
        "ExpressionAttributeValues": {":twFence": _number(fence)},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    try:
        return client.transact_write_items(TransactItems=[{"Update": guard}, *items])
    except client.exceptions.TransactionCanceledException as fault:
        reason = fault.response["CancellationReasons"][0]
        if reason.get("Code") == _LOST:
            raise FenceRefused(fence, _seen(reason.get("Item")), table) from fault
        raise


def _with_condition(request: Mapping[str, Any], fence: Fence) -> dict[str, Any]:
    whole = dict(request)
    own = request.get("ConditionExpression")
    whole["ConditionExpression"] = _CONDITION if own is None else f"{_CONDITION} AND ({own})"
    whole["ExpressionAttributeNames"] = {**request.get("ExpressionAttributeNames", {}), "#twFence": ATTRIBUTE}
    whole["ExpressionAttributeValues"] = {**request.get("ExpressionAttributeValues", {}), ":twFence": _number(fence)}
    whole["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return whole


def _send(client: DynamoDB, call: Any, whole: Mapping[str, Any], fence: Fence) -> Any:  # noqa: ANN401 - botocore's
    try:
        return call(**whole)
    except client.exceptions.ConditionalCheckFailedException as fault:
        _explain(fault, whole, fence)


def _explain(fault: Any, whole: Mapping[str, Any], fence: Fence) -> Never:  # noqa: ANN401 - botocore's
    """It may be the caller's own condition that failed: then it is the caller's to see, as botocore says it."""
    item = fault.response.get("Item")
    if item is None or ATTRIBUTE not in item or (_seen(item) or fence.number + 1) <= fence.number:
        raise fault
    raise FenceRefused(fence, _seen(item), str(whole["TableName"])) from fault


def _seen(item: Mapping[str, Any] | None) -> int | None:
    kept = None if item is None else item.get(ATTRIBUTE)
    return int(kept["N"]) if isinstance(kept, Mapping) and "N" in kept else None


def _number(fence: Fence) -> dict[str, str]:
    """Compared as a number: as text, 10 would be less than 9."""
    return {"N": str(fence.number)}
