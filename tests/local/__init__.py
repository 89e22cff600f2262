"""The local program, from outside."""
