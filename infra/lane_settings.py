"""Which lanes there are, highest first, and how many invocations may work on one.

Must not know CDK. The product's own list is tickwright.domain.lanes; a test holds the two equal.
"""

LANES = ("high", "normal", "low", "backfill")

# A mapping polls with 2 to 1,000 concurrent invocations.
MAPPING_CONCURRENCY_MIN, MAPPING_CONCURRENCY_MAX = 2, 1_000
