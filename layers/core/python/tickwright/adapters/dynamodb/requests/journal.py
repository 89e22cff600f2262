"""The journal's one change as a request. Pages that are written alone are put by the store itself."""

from tickwright.adapters.dynamodb import keys
from tickwright.adapters.dynamodb.expressions.journal import PUT_PAGE
from tickwright.adapters.dynamodb.items import journal as items
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.domain.journal import PutPage


def put_page(change: PutPage) -> Request:
    """A page beside what it names."""
    return Request(
        table=Table.JOURNAL,
        key=keys.page_of(change.page),
        write=PUT_PAGE,
        read=items.page_from_item,
        values={},
        put=items.page_to_item(change.page),
    )
