"""The bounds of what a handler may say, as the product has them; tests/sdk holds the two equal.

Must not know who enforces them.
"""

RESULT_BYTES_MAX = 32_768
CHECKPOINT_BYTES_MAX = 4_096
# One write for what was noted in a second: a loop that reports each row must not cost a write a row.
NOTE_INTERVAL_S = 1.0
# The last frames are those of the fault; an endless recursion has a thousand alike.
TRACE_FRAMES = -20
TRACE_CHARS_MAX = 4_000
MESSAGE_CHARS_MAX = 2_000
LINE_CHARS_MAX = 16_384  # of a log: no more is kept of all of it
