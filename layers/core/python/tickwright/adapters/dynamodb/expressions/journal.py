"""How a page is written beside what it names. The meaning: domain/journal.py.

Pages that are written alone have no condition: their writer is fresh.
"""

from tickwright.adapters.dynamodb.expressions.write import Kind, Write

PUT_PAGE = Write(
    says="A page stands in one transaction with what it names; its writer is fresh, so a repeat finds its own.",
    condition="attribute_not_exists(#page)",
    kind=Kind.PUT,
    batched=False,
)
