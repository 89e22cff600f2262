"""The bounds of what a handler may be given and say, as the product has them; tests/sdk holds the two equal.

Must not know who enforces them.
"""

PAYLOAD_BYTES_MAX = 262_144
RESULT_BYTES_MAX = 32_768
CHECKPOINT_BYTES_MAX = 4_096
# One write for what was noted in a second: a loop that reports each row must not cost a write a row.
NOTE_INTERVAL_S = 1.0
# The last frames are those of the fault; an endless recursion has a thousand alike.
TRACE_FRAMES = -20
TRACE_CHARS_MAX = 4_000
MESSAGE_CHARS_MAX = 2_000
LOG_BYTES_MAX = 16_384
LINE_CHARS_MAX = LOG_BYTES_MAX  # no more is kept of all of a log
RETRY_AFTER_S_MAX = 7 * 86_400.0
