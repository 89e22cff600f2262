"""What a journal page looks like: each entry one short string, since a page is charged by its size.

`jobId key version`; no part holds a space.
"""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.ids import ExecutionKey, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Entry, Page


def page_to_item(page: Page) -> Item:
    """The whole item."""
    return {
        **keys.page_of(page),
        "checkAt": wire.number(page.check_at),
        "writer": wire.text(page.writer),
        "looks": wire.number(page.looks),
        "entries": wire.text_list(_to_text(entry) for entry in page.entries),
        **({} if page.looked_at is None else {"lookedAt": wire.number(page.looked_at)}),
    }


def page_from_item(item: Item) -> Page:
    """The page of an item."""
    page = Page(
        bucket=int(wire.as_text(item["bucket"])),
        check_at=Instant(wire.as_number(item["checkAt"])),
        writer=wire.as_text(item["writer"]),
        looks=wire.as_number(item["looks"]),
        entries=tuple(_from_text(text) for text in wire.as_text_list(item["entries"])),
        looked_at=Instant(wire.as_number(item["lookedAt"])) if "lookedAt" in item else None,
    )
    assert keys.page_of(page)["page"] == item["page"]
    return page


def _to_text(entry: Entry) -> str:
    return f"{entry.job_id} {entry.key} {entry.version}"


def _from_text(text: str) -> Entry:
    job_id, key, version = text.split(" ")
    return Entry(job_id=JobId(job_id), key=ExecutionKey(key), version=int(version))
