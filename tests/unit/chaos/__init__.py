"""The chaos run's own tests: its checker must find what it is there to find."""
