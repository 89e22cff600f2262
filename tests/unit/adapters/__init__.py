"""Do the adapters translate rightly? Without any engine."""
