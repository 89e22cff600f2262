"""Does the whole keep its promises while its processes are killed and frozen? `python -m tests.chaos` shows it."""
