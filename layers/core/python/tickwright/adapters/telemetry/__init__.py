"""Where events go: log lines, embedded metrics, memory."""
