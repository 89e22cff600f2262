"""What runs an attempt: python handlers, HTTP."""
