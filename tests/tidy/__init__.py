"""Are we keeping our own rules? What no linter checks; two seconds, on every save."""
