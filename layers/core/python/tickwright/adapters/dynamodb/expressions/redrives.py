"""How orders to redrive are written, and the payloads that executions have of their own.

The meaning: domain/redrive_orders.py, domain/own_payloads.py.
"""

from tickwright.adapters.dynamodb.expressions.write import Kind, Write

PUT_NEW_ORDER = Write(
    says="An order is given once.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
PUT_ORDER = Write(
    says="An order goes on from the version that was seen: of two that carry it out, or cancel it, one wins.",
    condition="#version = :seenVersion",
    kind=Kind.PUT,
    batched=False,
)
PUT_OWN_PAYLOAD = Write(
    says="A payload is kept beside its execution as it was given.",
    condition="attribute_not_exists(#pk)",
    kind=Kind.PUT,
)
KEEP_OWN_PAYLOAD = Write(
    says="A payload is kept as long as its execution may ask for it: that one is opened again in this transaction.",
    condition="attribute_exists(#pk)",
    update="SET #expiresAt = :expiresAt, #ttl = :ttl",
    batched=False,
)
