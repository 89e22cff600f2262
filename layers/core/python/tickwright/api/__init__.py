"""The HTTP API as a function from request to response."""
