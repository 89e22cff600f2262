"""One use case a file: load, decide, write, announce."""
